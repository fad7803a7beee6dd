"""Links between segments: one that is opened names those sealed before it, and so is evidence of them."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import nlargest
from pathlib import Path

import orjson

from schemas import MAX_LINE_BYTES, LayoutLedgerError, SegmentLink, SegmentOpened
from tracker.log._disk import unavailable
from tracker.log._names import OPEN_SUFFIX, OPENED, SEALED_SUFFIX, is_segment_file, segment_path
from tracker.log._seal import read_seal
from tracker.log._strict import RefusedLine, parse_line

MOST_LINKS = 16
"""How many segments one names at most: a line of two kilobytes."""
FIRST_LOOK = 128
"""How many files a process reads that opens its first segment in a campaign."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a process knows of a campaign's folder.

    `names` of files, all of whose first lines were read or given up; `loose`, the sealed segments among them
    that none names; `ahead`, segments that were named and are not here (yet).
    """

    names: frozenset[str] = frozenset()
    loose: frozenset[str] = frozenset()
    ahead: frozenset[str] = frozenset()


class LooseEnds:
    """A campaign's sealed segments that no other names: what the next one to be opened has to name.

    The first look reads the first lines of the `FIRST_LOOK` newest segments, each later look those of what is
    new, whoever wrote or pulled it. Up to `MOST_LINKS` are named at a time, the oldest ids first. So, once
    those that were there before the first look are named,

    - with up to `MOST_LINKS` writers at a time, each of which opens one segment after another, a segment is
      named at the latest by the next one that its own writer opens: unnamed at the end is at most the last
      segment of each writer;
    - whatever is left over (after a pull, say) is named by the segments opened next.

    Two that are opened at the same moment may name the same ones. A look changes nothing, takes no lock and
    never fails: what cannot be read is not named.

    Args:
        folder: the campaign's.
        most: in place of `MOST_LINKS`.
        first_look: in place of `FIRST_LOOK`.

    """

    def __init__(self, folder: Path, *, most: int = MOST_LINKS, first_look: int = FIRST_LOOK) -> None:
        self._folder = folder
        self._most = most
        self._first_look = first_look
        self._seen: _Seen | None = None

    def look(self) -> tuple[SegmentLink, ...]:
        """Links for a segment that is about to be opened, ascending by id."""
        try:
            names = frozenset(os.listdir(self._folder))
        except OSError:
            return ()
        # Replaced whole, so that threads need no lock, which a forked child might find held for ever.
        self._seen = seen = self._see(names)
        return tuple(self._links(seen.loose))

    def _see(self, names: frozenset[str]) -> _Seen:
        before = self._seen
        fresh = [name for name in names - (before or _Seen()).names if name.endswith(SEALED_SUFFIX)]
        if before is None:
            before, fresh = _Seen(), nlargest(self._first_look, fresh)
        fresh = [name for name in fresh if is_segment_file(Path(name))]
        segments = {name.removesuffix(SEALED_SUFFIX) for name in fresh if not name.endswith(OPEN_SUFFIX)}
        named = before.ahead.union(*(_named_by(self._folder / name) for name in fresh))
        ahead = frozenset(segment for segment in named if f"{segment}{SEALED_SUFFIX}" not in names)
        return _Seen(names, (before.loose | segments) - named, ahead)

    def _links(self, loose: frozenset[str]) -> Iterator[SegmentLink]:
        left = self._most
        for segment in sorted(loose):
            if not left:
                return
            try:
                seal = read_seal(segment_path(self._folder / f"{segment}{SEALED_SUFFIX}"))
            except LayoutLedgerError:
                continue
            left -= 1
            yield SegmentLink(segment=seal.segment, head=seal.head)


def read_links(path: Path) -> tuple[SegmentLink, ...]:
    """The links in a segment's first line, sealed or open; none where that line is none.

    Raises:
        InvalidInputError: the line is right and its links are none, naming the file.
        StoreUnavailableError: the file cannot be read.

    """
    try:
        event = parse_line(_first_line(path).removesuffix(b"\n"))
    except RefusedLine:
        return ()
    except OSError as error:
        raise unavailable(path, "read", error) from error
    if event.type != OPENED:
        return ()
    return SegmentOpened.parse(event.data, where=f"{path}: line 1: {OPENED}").follows


def _named_by(path: Path) -> frozenset[str]:
    """Ids that a segment's first line names; nothing is checked, for a wrong line is for `verify` to find."""
    try:
        follows = orjson.loads(_first_line(path))["data"].get("follows", ())
        return frozenset(link["segment"] for link in follows)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return frozenset()


def _first_line(path: Path) -> bytes:
    with path.open("rb") as handle:
        return handle.readline(MAX_LINE_BYTES + 1)
