"""Every way in which the log is not what its writers left, without stopping at the first."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from schemas import CorruptionError, InvalidInputError, SegmentLink
from tracker.log._checkpoint import Checkpoint, campaign_checkpoint
from tracker.log._disk import claimed
from tracker.log._links import read_links
from tracker.log._log import Log
from tracker.log._names import (
    INCOMING_SUFFIX,
    OPEN_SUFFIX,
    SegmentPath,
    is_campaign_folder,
    is_leftover,
    is_segment_file,
)
from tracker.log._reader import DamagedSegmentError, iter_segment, read_open_segment
from tracker.log._seal import read_seal


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that does not verify: what, where, what was expected, what was found."""

    what: str
    where: str
    expected: str
    found: str

    def plain(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def verify_log(log: Log, checkpoints: Iterable[Checkpoint] = ()) -> list[Finding]:
    """Verify every line of every segment; nothing is changed.

    Args:
        log: the log.
        checkpoints: what certificates and the mirror say the log held: shows a deleted or replaced segment.

    Returns:
        Findings, in the order of the files; empty when all is well. A live writer's segment is verified as
        far as it goes and is no finding; a dead writer's is one, for `recover` has not closed it.

    """
    findings: list[Finding] = []
    if log.folder.is_dir():
        for entry in sorted(log.folder.iterdir()):
            findings.extend(_check_folder(entry))
    for checkpoint in checkpoints:
        findings.extend(_check_checkpoint(log, checkpoint))
    return findings


def verify_links(log: Log) -> list[Finding]:
    """Compare with the log what segments say of those sealed before them; nothing is changed.

    A segment that another names and that is not here was deleted, or has not come yet (a part of a ledger was
    pulled or copied): nobody can tell which, and nothing else depends on it. What is damaged is for
    `verify_log` to find.

    Returns:
        A finding for each named segment that is missing or has another seal, by campaign and id; it says
        which segment names it. Empty when all is well.

    Raises:
        StoreUnavailableError: a file cannot be read.

    """
    findings: list[Finding] = []
    for campaign in log.campaigns():
        sealed = {place.segment: place for place in log.segments(campaign)}
        told: dict[SegmentLink, Path] = {}
        for place in sorted((*sealed.values(), *log.open_segments(campaign))):
            try:
                links = read_links(place.path)
            except InvalidInputError as error:
                findings.append(Finding("unreadable links", f"{place.path}:1", "links", str(error)))
                continue
            for link in links:
                told.setdefault(link, place.path)
        for link in sorted(told, key=lambda link: (link.segment, link.head)):
            findings.extend(_check_link(link, f"{told[link]}:1", sealed.get(link.segment)))
    return findings


def _check_link(link: SegmentLink, where: str, place: SegmentPath | None) -> Iterator[Finding]:
    if place is None:
        lost = "no sealed segment of that id: pull it, or restore its file from a copy"
        yield Finding("missing segment", where, link.segment, lost)
        return
    try:
        head = read_seal(place).head
    except CorruptionError:
        return
    if head != link.head:
        yield Finding("replaced segment", where, f"{link.segment} with seal {link.head}", f"seal {head}")


def _check_folder(folder: Path) -> Iterator[Finding]:
    if is_leftover(folder):
        yield from _check_leftover(folder)
        return
    if not is_campaign_folder(folder):
        yield Finding("unexpected file", str(folder), "only campaign folders", folder.name)
        return
    for path in sorted(folder.iterdir()):
        if is_segment_file(path):
            yield from _check_segment(path)
        elif is_leftover(path):
            yield from _check_leftover(path)
        else:
            yield Finding("unexpected file", str(path), "only segments", path.name)


def _check_segment(path: Path) -> Iterator[Finding]:
    try:
        if path.name.endswith(OPEN_SUFFIX):
            read_open_segment(path)
            yield from _check_leftover(path)
        else:
            for _ in iter_segment(path):
                pass
    except DamagedSegmentError as error:
        yield Finding("damaged segment", f"{path}:{error.line}", error.expected, error.found)
    except InvalidInputError as error:
        yield Finding("unreadable segment", str(path), "events that this program knows", str(error))


def _check_leftover(path: Path) -> Iterator[Finding]:
    with claimed(path) as handle:
        if handle is None:
            return
        if path.suffix == INCOMING_SUFFIX:
            yield Finding("unfinished pull", str(path), "a live process that pulls", "none: run recover")
        else:
            yield Finding("unsealed segment", str(path), "a seal, or a live writer", "neither: run recover")


def _check_checkpoint(log: Log, checkpoint: Checkpoint) -> Iterator[Finding]:
    folder = str(log.folder / checkpoint.campaign)
    present = {place.segment for place in log.segments(checkpoint.campaign)}
    missing = [segment for segment in checkpoint.segments if segment not in present]
    for segment in missing:
        yield Finding("deleted segment", folder, segment, "no sealed segment of that id")
    if missing:
        return
    try:
        root = campaign_checkpoint(log, checkpoint.campaign, checkpoint.segments).root
    except CorruptionError as error:
        yield Finding("checkpoint does not match", folder, checkpoint.root, str(error))
        return
    if root != checkpoint.root:
        yield Finding("checkpoint does not match", folder, checkpoint.root, root)
