"""Compaction: many small files of a campaign become few, so that a question opens few."""

from collections.abc import Sequence

import duckdb

from schemas import digest_json
from tracker.warehouse._catalogue import Catalogue, Part
from tracker.warehouse._folder import Folder
from tracker.warehouse._kinds import KINDS, RULES, create_rules, kind_of_files, publish, read_files

FAN_IN = 8
"""So many files of one level become one of the next."""

MOST_STEPS = 3
"""Of those, so many are taken at once."""

LARGEST_EVENTS = 1_000_000
"""A part does not grow beyond this, so that what one refresh merges is bounded whatever the ledger's size."""


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
        create_rules(connection)
        digests = {
            kind: publish(folder, connection, select, folder.part(campaign, name, kind))
            for kind, select in part_selects(folder, campaign, group).items()
        }
    level = group[0].level + _steps(len(group))
    return Part(name, level, sum(part.events for part in group), segments, digests)


def part_selects(folder: Folder, campaign: str, group: Sequence[Part]) -> dict[str, str]:
    """What each kind of the new part is made of: segments are told apart, parts are by kind already."""
    if group[0].level > 0:
        return {
            kind: f"FROM {read_files(folder.part(campaign, part.name, kind) for part in group)}"
            for kind in KINDS
        }
    segments = [folder.segment(campaign, part.name) for part in group]
    return {
        kind: kind_of_files(kind, segments) + (" ORDER BY ALL" if kind in RULES else "") for kind in KINDS
    }
