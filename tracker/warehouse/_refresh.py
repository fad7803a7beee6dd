"""Bring the warehouse up to the log: project what is new, compact, swap the views in."""

import contextlib
import gc
import json
import os
import time
from collections.abc import Generator, Iterable, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from schemas import MAX_LINE_BYTES, InvalidInputError, StoreUnavailableError, is_segment_id
from tracker.log import OPEN_SUFFIX, SEALED_SUFFIX, Log, SegmentPath, read_seal, segment_path
from tracker.warehouse._catalogue import CATALOGUE, Catalogue, Part, StoredSegment, load_catalogue
from tracker.warehouse._compact import compact
from tracker.warehouse._folder import PARQUET, Folder, part_name
from tracker.warehouse._kinds import KINDS, has_empty_files, write_empty_files
from tracker.warehouse._project import project_segment
from tracker.warehouse._views import OpenAttempt, Views, make_views

SUPERSEDED_SECONDS = 86_400.0
"""How long a merged part is kept for readers that opened older views."""

SAVED_EVERY = 512
"""So many projected segments are kept, whatever becomes of the refresh that has very many to take in."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh did.

    Args:
        projected: segments whose Parquet file was written.
        dropped: segments that the log no longer has.
        parts: compacted sets that were made.
        views: whether the views file was replaced.

    """

    projected: int = 0
    dropped: int = 0
    parts: int = 0
    views: bool = False


@dataclass(slots=True)
class _Gap:
    """What a campaign's catalogue lacks, and what it has too much."""

    catalogue: Catalogue
    new: list[SegmentPath]
    gone: set[str]


def refresh_warehouse(log: Log, folder: Folder) -> Refreshed:
    """Take in what the log has and the warehouse has not; nothing is written where nothing is new.

    Raises:
        CorruptionError: a new segment does not verify, or a Parquet file that has to be read again was
            changed; the views are as before.
        InvalidInputError: a new segment holds what no column or no record takes.
        StoreUnavailableError: the folder cannot be written.

    """
    latest = folder.latest_refresh()
    gaps = _survey(log, folder)
    if not _is_behind(log, folder, gaps):
        return Refreshed()
    with folder.locked():
        if folder.latest_refresh() != latest:
            gaps = _survey(log, folder)
        return _bring_up(log, folder, gaps)


def rebuild_warehouse(log: Log, folder: Folder) -> Refreshed:
    """Project every segment again, as if there were no warehouse; readers go on meanwhile."""
    with folder.locked():
        gaps = [_Gap(Catalogue(name), list(log.segments(name)), set()) for name in log.campaigns()]
        done = _take_in(folder, gaps)
        _views(log, folder, gaps).write()
        _sweep(folder, [gap.catalogue for gap in gaps], older_than=0.0)
        return replace(done, views=True)


def warehouse_views(log: Log, folder: Folder) -> Views:
    """The views that the warehouse has to have, as its catalogues stand."""
    return _views(log, folder, _survey(log, folder))


def running_attempts(log: Log) -> tuple[OpenAttempt, ...]:
    """Cells that an open segment is about, from its first line."""
    found = [
        _open_attempt(segment_path(log.folder / campaign / name))
        for campaign in log.campaigns()
        for name in sorted(name for name in _names(log.folder / campaign) if name.endswith(OPEN_SUFFIX))
    ]
    return tuple(attempt for attempt in found if attempt is not None)


def _survey(log: Log, folder: Folder) -> list[_Gap]:
    stored = _names(folder.root / "segments")
    with _collector_paused():
        return [_gap(log, folder, name) for name in sorted(stored | set(log.campaigns()))]


def _gap(log: Log, folder: Folder, campaign: str) -> _Gap:
    catalogue = load_catalogue(folder, campaign)
    sealed = _sealed(log, campaign, catalogue.segments.keys())
    files, parts = _names(folder.segments(campaign)), _names(folder.parts(campaign))
    # A file that is gone counts as never written.
    catalogue.parts = [part for part in catalogue.parts if _part_names(part) <= parts]
    held = {segment for segment in catalogue.segments if f"{segment}{PARQUET}" in files}
    new = [segment_path(log.folder / campaign / f"{segment}{SEALED_SUFFIX}") for segment in sealed - held]
    return _Gap(catalogue, sorted(new), catalogue.segments.keys() - sealed)


def _sealed(log: Log, campaign: str, known: Set[str]) -> set[str]:
    """Ids of the sealed segments, from names alone: a ledger may have very many that are known already."""
    names = _names(log.folder / campaign)
    present = {segment for segment in known if f"{segment}{SEALED_SUFFIX}" in names}
    stems = (
        name.removesuffix(SEALED_SUFFIX)
        for name in names - {f"{segment}{SEALED_SUFFIX}" for segment in present}
        if name.endswith(SEALED_SUFFIX)
    )
    return present | {stem for stem in stems if is_segment_id(stem)}


def _part_names(part: Part) -> set[str]:
    return {part_name(part.name, kind) for kind in KINDS}


def _names(folder: Path) -> set[str]:
    try:
        return set(os.listdir(folder))
    except FileNotFoundError:
        return set()
    except OSError as error:
        raise StoreUnavailableError(f"{folder}: cannot list: {error.strerror}; make it readable") from error


def _is_behind(log: Log, folder: Folder, gaps: Iterable[_Gap]) -> bool:
    if any(gap.new or gap.gone for gap in gaps) or not has_empty_files(folder):
        return True
    return not _views(log, folder, gaps).are_current()


def _views(log: Log, folder: Folder, gaps: Iterable[_Gap]) -> Views:
    return make_views(folder, [gap.catalogue for gap in gaps], running_attempts(log))


def _bring_up(log: Log, folder: Folder, gaps: list[_Gap]) -> Refreshed:
    done = _take_in(folder, gaps)
    views = _views(log, folder, gaps)
    if views.are_current():
        return done
    views.bring_up()
    if done.parts or done.dropped:
        # Only then is there more to remove than before.
        _sweep(folder, [gap.catalogue for gap in gaps], older_than=SUPERSEDED_SECONDS)
    return replace(done, views=True)


def _take_in(folder: Folder, gaps: Sequence[_Gap]) -> Refreshed:
    write_empty_files(folder)
    parts = sum(_fill(folder, gap) for gap in gaps)
    return Refreshed(sum(len(gap.new) for gap in gaps), sum(len(gap.gone) for gap in gaps), parts)


def _fill(folder: Folder, gap: _Gap) -> int:
    """Project and compact one campaign; its catalogue is written after the files that it names."""
    made = 0
    if gap.gone:
        gap.catalogue.forget(gap.gone)
        made += _settle(folder, gap.catalogue)
    for start in range(0, len(gap.new), SAVED_EVERY):
        for place in gap.new[start : start + SAVED_EVERY]:
            gap.catalogue.segments[place.segment] = _project(folder, place)
        made += _settle(folder, gap.catalogue)
    return made


def _settle(folder: Folder, catalogue: Catalogue) -> int:
    made = compact(folder, catalogue)
    catalogue.save(folder)
    return made


def _project(folder: Folder, place: SegmentPath) -> StoredSegment:
    with _collector_paused():
        try:
            table = project_segment(place)
        except InvalidInputError as error:
            raise InvalidInputError(
                f"{error}; nothing was changed: where this tool did not write the segment, move the file out "
                "of the log (`layoutledger verify` names all such lines)"
            ) from error
    digest = folder.write_parquet(folder.segment(place.campaign, place.segment), table)
    return StoredSegment(table.num_rows, read_seal(place).root, digest)


@contextlib.contextmanager
def _collector_paused() -> Generator[None]:
    """What is read is much and in no cycle: for a segment's events the search is a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _sweep(folder: Folder, catalogues: Iterable[Catalogue], *, older_than: float) -> None:
    """Remove files that no catalogue names, once no reader of older views can want them."""
    for catalogue in catalogues:
        kept = {f"{segment}{PARQUET}" for segment in catalogue.segments}
        kept = kept.union(*(_part_names(part) for part in catalogue.parts))
        kept.add(CATALOGUE)
        for place in (folder.segments(catalogue.campaign), folder.parts(catalogue.campaign)):
            for name in _names(place) - kept:
                _remove_old(place / name, older_than)


def _remove_old(path: Path, older_than: float) -> None:
    with contextlib.suppress(FileNotFoundError):
        if time.time() - path.stat().st_mtime >= older_than:
            path.unlink()


def _open_attempt(place: SegmentPath) -> OpenAttempt | None:
    """A hint, not evidence: the line is not verified, and what cannot be read is left out."""
    try:
        with place.path.open("rb") as handle:
            subject = json.loads(handle.readline(MAX_LINE_BYTES))["subject"]
        return OpenAttempt(place.campaign, place.segment, str(subject["cell"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
