"""After a crash: what dead writers left is closed and sealed, live writers are left alone (section 4)."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from schemas import CellFailed, Unit, digest_bytes
from tracker.log._crash import crash_point
from tracker.log._disk import claimed, file_chunks
from tracker.log._encoder import LineEncoder
from tracker.log._log import Log, this_source
from tracker.log._names import (
    CUT,
    INTERRUPTED,
    OPENED,
    RECOVERING_SUFFIX,
    SEALED_SUFFIX,
    SegmentPath,
    is_leftover,
)
from tracker.log._reader import Scan, scan

_ATTEMPT_ENDS = frozenset({"cell.completed", "cell.failed"})


@dataclass(frozen=True, slots=True)
class Recovered:
    """A dead writer's segment, now sealed: how many of its events were kept, how many torn bytes were cut."""

    path: Path
    unit: str
    kept: int
    cut_bytes: int


@dataclass(frozen=True, slots=True)
class Recovery:
    """What `recover` did: segments it sealed, and those it left because their writer is alive."""

    sealed: tuple[Recovered, ...]
    live: tuple[Path, ...]


def recover(log: Log, campaign: str | None = None) -> Recovery:
    """Seal what dead writers left, an incomplete last line cut and recorded; once more changes nothing.

    An attempt that had not ended gets `cell.failed` of kind `interrupted`, any other unit
    `segment.interrupted`.

    Raises:
        CorruptionError: damage before the last line of any of them, with file and line; nothing was changed.
        StoreUnavailableError: the folder cannot be written; what was not sealed yet is as before.

    """
    with ExitStack() as locks:
        live: list[Path] = []
        dead: list[tuple[SegmentPath, Scan]] = []
        for place in log.open_segments(campaign):
            handle = locks.enter_context(claimed(place.path))
            if handle is not None:
                dead.append((place, _inspect(handle, place)))
            elif place.path.exists():
                live.append(place.path)
        sealed = tuple(_seal(log, place, found) for place, found in dead)
        _drop_leftovers(log, campaign)
    return Recovery(sealed, tuple(live))


def _inspect(handle: int, place: SegmentPath) -> Scan:
    """Everything that could speak against recovery is found here, before anything is changed."""
    with os.fdopen(os.dup(handle), "rb") as file:
        found = scan(file, place)
    if found.chain.sealed is not None and found.tail:
        raise found.chain.damage("the end of the file after the seal", "more bytes")
    final = _final(place)
    if final.exists() and not _begins_alike(place.path, final, found.chain.length):
        raise found.chain.damage(f"the lines of {final.name} beside it", "other lines")
    return found


def _seal(log: Log, place: SegmentPath, found: Scan) -> Recovered:
    disk, final = log.disk, _final(place)
    unit = str(found.events[0].data.get("unit")) if found.events else Unit.UNKNOWN.value
    if final.exists():
        # The sealed file came from a ledger that this one was copied from, and holds all of these lines.
        place.path.unlink()
        disk.sync_folder(final.parent)
    elif found.chain.sealed is not None:
        disk.rename(place.path, final)
    else:
        fresh = final.with_name(f"{place.segment}{RECOVERING_SUFFIX}")
        fresh.unlink(missing_ok=True)
        kept = file_chunks(place.path, found.chain.length)
        handle = disk.write_new(fresh, chain(kept, _closing_lines(place, found)))
        try:
            crash_point("recover.written")
            disk.rename(fresh, place.path)
            disk.rename(place.path, final)
        finally:
            os.close(handle)
    return Recovered(final, unit, len(found.events), len(found.tail))


def _closing_lines(place: SegmentPath, found: Scan) -> Iterator[bytes]:
    """What recovery has to say of the segment, and the seal."""
    own = {"campaign": place.campaign, "segment": place.segment}
    subject = found.events[0].subject if found.events else own
    encoder = LineEncoder(this_source(), subject, tree=found.chain.tree, head=found.chain.head)
    if not found.events:
        yield encoder.encode(OPENED, {**own, "unit": Unit.UNKNOWN.value})[0]
    if found.tail:
        yield encoder.encode(CUT, {"bytes": len(found.tail), "digest": digest_bytes(found.tail)})[0]
    yield from _verdict(encoder, found)
    yield encoder.seal()[0]


def _verdict(encoder: LineEncoder, found: Scan) -> Iterator[bytes]:
    types = [event.type for event in found.events]
    if not found.events or found.events[0].data.get("unit") != Unit.ATTEMPT:
        yield encoder.encode(INTERRUPTED, {"reason": "the writer ended before it sealed the segment"})[0]
    elif _ATTEMPT_ENDS.isdisjoint(types):
        cells = (event.data.get("cell") for event in found.events)
        failure = CellFailed(
            cell=encoder.subject.get("cell") or next((str(cell) for cell in cells if cell), ""),
            kind="interrupted",
            message="the runner ended before the attempt did; the samples so far are kept",
            samples=types.count("sample.recorded"),
        )
        yield encoder.encode("cell.failed", failure.plain())[0]


def _drop_leftovers(log: Log, campaign: str | None) -> None:
    """Files that a crash left before anyone was told of them; those that a live process holds stay."""
    names = log.campaigns() if campaign is None else (campaign,)
    folders = [log.folder, *(log.folder / name for name in names)]
    for path in (path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir())):
        if is_leftover(path):
            with claimed(path) as handle:
                if handle is not None:
                    path.unlink()


def _final(place: SegmentPath) -> Path:
    return place.path.with_name(f"{place.segment}{SEALED_SUFFIX}")


def _begins_alike(left: Path, right: Path, length: int) -> bool:
    return all(a == b for a, b in zip(file_chunks(left, length), file_chunks(right, length), strict=False))
