"""Reading a segment: every line verified before anyone sees its event."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from schemas import MAX_LINE_BYTES, CorruptionError, Event, InvalidInputError, genesis_digest
from tracker.log._disk import unavailable
from tracker.log._merkle import MerkleTree
from tracker.log._names import OPENED, SEALED, SegmentPath, check_campaign, check_segment, segment_path
from tracker.log._strict import LineParser, RefusedLine, parse_line
from tracker.log._upcast import upcast


class DamagedSegmentError(CorruptionError):
    """A segment that does not verify: `path`, `line` (from 1), and what was `expected` and `found` there."""

    def __init__(self, path: Path, line: int, expected: str, found: str) -> None:
        super().__init__(
            f"{path}: line {line}: {found}, expected {expected}; nothing was changed, "
            "restore the file from a copy or move it out of the log"
        )
        self.path = path
        self.line = line
        self.expected = expected
        self.found = found


class Chain:
    """The verification of one segment, line by line: sequence, chain, subject, seal.

    `tree` is the Merkle tree over the lines so far, the seal's own line left out.
    """

    def __init__(self, place: SegmentPath) -> None:
        self.place = place
        self.count = 0
        self.length = 0
        self.sealed: Event | None = None
        self.head = genesis_digest(place.segment)
        self.tree = MerkleTree()
        self._parser = LineParser()

    def accept(self, line: bytes) -> Event:
        """Verify the next line (without its newline).

        Raises:
            DamagedSegmentError: naming file, line and reason.

        """
        try:
            event = self._parser.parse(line)
        except RefusedLine as error:
            raise self.damage("an event in canonical JSON", str(error)) from error
        self._check_place(event)
        if event.type == SEALED:
            self._expect("seal", event.data, {"count": self.count, "root": self.tree.root()})
            self.sealed = event
        else:
            self.tree.add(line)
        self.count += 1
        self.length += len(line) + 1
        self.head = event.digest
        return event

    def damage(self, expected: str, found: str) -> DamagedSegmentError:
        """The error that names this file and the line that comes next."""
        return DamagedSegmentError(self.place.path, self.count + 1, expected, found)

    def _check_place(self, event: Event) -> None:
        if self.sealed is not None:
            raise self.damage("the end of the file after the seal", "another line")
        self._expect("seq", event.seq, self.count)
        self._expect("prev", event.prev, self.head)
        self._expect("subject.campaign", event.subject.get("campaign"), self.place.campaign)
        self._expect("subject.segment", event.subject.get("segment"), self.place.segment)
        if (event.type == OPENED) != (self.count == 0):
            raise self.damage(f"{OPENED} on line 1 and nowhere else", event.type)

    def _expect(self, what: str, found: object, expected: object) -> None:
        if found != expected:
            raise self.damage(f"{what} {expected}", f"{what} {found}")


@dataclass(frozen=True, slots=True)
class Scan:
    """A segment's verified events and what follows them: the bytes of an incomplete last line."""

    events: tuple[Event, ...]
    chain: Chain
    tail: bytes


def iter_segment(path: Path) -> Iterator[Event]:
    """A sealed segment's events, each verified when it comes, the seal when the last has come.

    Memory does not grow with the segment.

    Raises:
        CorruptionError: naming file and line.
        InvalidInputError: an event is newer than this program.
        StoreUnavailableError: the file cannot be read.

    """
    return _iter_file(path, segment_path(path))


def _iter_file(path: Path, place: SegmentPath) -> Iterator[Event]:
    chain = Chain(place)
    with _open(path) as handle:
        for line, complete in split_lines(handle):
            if not complete:
                raise chain.damage("a complete last line", "an incomplete one")
            yield upcast_at(chain.accept(line), place.path)
    if chain.sealed is None:
        raise chain.damage(f"{SEALED} as the last line", "the end of the file")


def read_segment(path: Path) -> tuple[Event, ...]:
    """All events of a sealed segment, verified: chain, digests, seq, count, root; see `iter_segment`."""
    return tuple(iter_segment(path))


def verify_foreign(path: Path, *, shown_as: Path) -> SegmentPath:
    """Verify a sealed segment that says in its first line which one it is; errors name `shown_as`.

    Raises:
        CorruptionError: it does not verify, or claims names that are none.
        InvalidInputError: an event is newer than this program.

    """
    with _open(path) as handle:
        line = handle.readline(MAX_LINE_BYTES + 2).removesuffix(b"\n")
    try:
        subject = parse_line(line).subject
        campaign, segment = (
            check_campaign(subject.get("campaign", "")),
            check_segment(subject.get("segment", "")),
        )
    except (RefusedLine, InvalidInputError) as error:
        raise CorruptionError(f"{shown_as}: line 1: {error}; it was not taken in") from error
    place = SegmentPath(campaign, segment, shown_as, sealed=True)
    for _ in _iter_file(path, place):
        pass
    return place


def read_open_segment(path: Path) -> tuple[Event, ...]:
    """The complete events of a segment that may still be written to; an incomplete last line is left out.

    Raises:
        CorruptionError: naming file and line.

    """
    with _open(path) as handle:
        return tuple(upcast_at(event, path) for event in scan(handle, segment_path(path)).events)


def scan(handle: BinaryIO, place: SegmentPath) -> Scan:
    """Verify all complete lines of an open file; the rest is the tail."""
    chain, events, tail = Chain(place), list[Event](), b""
    for line, complete in split_lines(handle):
        if complete:
            events.append(chain.accept(line))
        else:
            tail = line
    return Scan(tuple(events), chain, tail)


def split_lines(handle: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """Lines without their newline, and whether they had one; an overlong line comes as its beginning."""
    while line := handle.readline(MAX_LINE_BYTES + 2):
        if line.endswith(b"\n"):
            yield line[:-1], True
        else:
            # Longer than allowed is no torn tail: it is given as complete, and refused for its length.
            yield line, len(line) > MAX_LINE_BYTES


def upcast_at(event: Event, path: Path) -> Event:
    """The event in its current version; an error names the file and line."""
    try:
        return upcast(event)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: line {event.seq + 1}: {error}") from error


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise unavailable(path, "read", error) from error
