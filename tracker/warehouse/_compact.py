"""Compaction: many small files of a campaign become few, so that a question opens few."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb

from schemas import digest_json
from tracker.log import crash_point
from tracker.warehouse._catalogue import Catalogue, Part
from tracker.warehouse._folder import KINDS, Folder
from tracker.warehouse._project import SAMPLE
from tracker.warehouse._views import create_macro, sql_list

FAN_IN = 8
"""So many files of one level become one of the next."""

MOST_STEPS = 3
"""Of those, so many are taken at once."""

LARGEST_EVENTS = 1_000_000
"""A part does not grow beyond this, so that what one refresh merges is bounded whatever the ledger's size."""

_COPY = "COPY ({}) TO '{}' (FORMAT parquet, COMPRESSION zstd)"


def compact(folder: Folder, catalogue: Catalogue) -> int:
    """Merge until few small files are left on each level; returns how many parts were made."""
    made = 0
    while group := _next_group(catalogue):
        merged = _merge(folder, catalogue.campaign, group)
        catalogue.parts = [part for part in catalogue.parts if part not in group]
        catalogue.parts.append(merged)
        made += 1
    return made


def _next_group(catalogue: Catalogue) -> list[Part] | None:
    loose = catalogue.loose()
    if len(loose) >= FAN_IN:
        # Very many, as when all is made again, become one large part at once instead of step by step.
        taken = loose[: FAN_IN ** min(_steps(len(loose)), MOST_STEPS)]
        return [Part(segment, 0, catalogue.segments[segment].events, (segment,), {}) for segment in taken]
    levels: dict[int, list[Part]] = {}
    for part in catalogue.parts:
        if part.events <= LARGEST_EVENTS // FAN_IN:
            levels.setdefault(part.level, []).append(part)
    full = [parts[:FAN_IN] for _, parts in sorted(levels.items()) if len(parts) >= FAN_IN]
    return full[0] if full else None


def _steps(count: int) -> int:
    """How often so many can be merged by `FAN_IN`."""
    steps = 0
    while count >= FAN_IN:
        count //= FAN_IN
        steps += 1
    return steps


def _merge(folder: Folder, campaign: str, group: Sequence[Part]) -> Part:
    segments = tuple(segment for part in group for segment in part.segments)
    # Named by content, so that the same name is the same set of segments.
    name = f"{min(segments)}-{digest_json(list(segments))[:16]}"
    with duckdb.connect() as connection:
        create_macro(connection)
        digests = {
            kind: _publish(folder, connection, select, folder.part(campaign, name, kind))
            for kind, select in part_selects(folder, campaign, group).items()
        }
    level = group[0].level + _steps(len(group))
    return Part(name, level, sum(part.events for part in group), segments, digests)


def part_selects(folder: Folder, campaign: str, group: Sequence[Part]) -> dict[str, str]:
    """What each kind of the new part is made of: segments are told apart, parts are by kind already."""
    if group[0].level > 0:
        return {
            kind: f"FROM read_parquet({_list(folder.part(campaign, part.name, kind) for part in group)})"
            for kind in KINDS
        }
    lines = f"read_parquet({_list(folder.segment(campaign, part.name) for part in group)})"
    samples = f"FROM {lines} WHERE type = '{SAMPLE}'"
    return {
        "facts": f"FROM {lines} WHERE type <> '{SAMPLE}'",
        "samples": samples,
        "medians": f"WITH part_samples AS ({samples}) FROM usable_medians('part_samples') ORDER BY ALL",
    }


def _publish(folder: Folder, connection: duckdb.DuckDBPyConnection, select: str, path: Path) -> str:
    temporary = folder.temporary(path)
    crash_point("compact.before")
    connection.execute(_COPY.format(select, str(temporary).replace("'", "''")))
    digest = folder.settle(temporary)
    folder.disk.rename(temporary, path)
    crash_point("compact.after")
    return digest


def _list(paths: Iterable[Path]) -> str:
    return sql_list(str(path) for path in paths)
