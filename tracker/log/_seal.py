"""A sealed segment's last line, read without the lines before it."""

import os
from pathlib import Path

from schemas import CorruptionError
from tracker.log._disk import unavailable
from tracker.log._names import SEALED, SegmentPath
from tracker.log._strict import RefusedLine, parse_line
from tracker.log._writer import SealedSegment

_SEAL_BYTES = 65_536
"""More than a seal's line ever has; the subject is all that varies in it."""


def read_seal(place: SegmentPath) -> SealedSegment:
    """What a sealed segment's last line says; the lines before are not read.

    Raises:
        CorruptionError: the last line is no seal.

    """
    line = _last_line(place.path)
    try:
        event = parse_line(line)
    except RefusedLine as error:
        raise CorruptionError(f"{place.path}: last line: {error}; nothing was changed") from error
    own = (event.subject.get("campaign"), event.subject.get("segment"))
    count, root = event.data.get("count"), event.data.get("root")
    belongs = event.type == SEALED and own == (place.campaign, place.segment)
    if not belongs or count != event.seq or not isinstance(root, str):
        raise CorruptionError(f"{place.path}: last line: not the seal of this segment; nothing was changed")
    return SealedSegment(place.campaign, place.segment, place.path, event.seq, root, event.digest, event.time)


def _last_line(path: Path) -> bytes:
    try:
        with path.open("rb") as handle:
            size = handle.seek(0, os.SEEK_END)
            handle.seek(max(0, size - _SEAL_BYTES))
            end = handle.read()
    except OSError as error:
        raise unavailable(path, "read", error) from error
    return end.removesuffix(b"\n").rpartition(b"\n")[2]
