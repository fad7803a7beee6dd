"""Names within the log's folder: campaign folders, segment files, the log's own event types."""

import re
from dataclasses import dataclass
from pathlib import Path

from schemas import InvalidInputError, is_campaign_name, is_segment_id

OPENED = "segment.opened"
SEALED = "segment.sealed"
CUT = "segment.cut"
INTERRUPTED = "segment.interrupted"

SEALED_SUFFIX = ".jsonl"
OPEN_SUFFIX = ".open.jsonl"
FRESH_SUFFIX = ".new"
"""A segment whose first event is not durable yet: no one has been told of it."""
RECOVERING_SUFFIX = ".recovering"
"""What recovery is writing."""
INCOMING_SUFFIX = ".incoming"
"""A segment of another ledger that is not verified yet."""
_LEFTOVERS = (FRESH_SUFFIX, RECOVERING_SUFFIX, INCOMING_SUFFIX)

_FILE = re.compile(r"(?P<segment>[^.]+)(?P<suffix>\.open\.jsonl|\.jsonl)\Z")


@dataclass(frozen=True, slots=True, order=True)
class SegmentPath:
    """A segment's file; the segment id sorts by time of opening."""

    campaign: str
    segment: str
    path: Path
    sealed: bool


def segment_path(path: Path) -> SegmentPath:
    """Campaign, segment and state that a file's name and folder say.

    Raises:
        InvalidInputError: it is not named like a segment.

    """
    match = _FILE.match(path.name)
    if match is None or not is_segment_id(match["segment"]):
        raise InvalidInputError(
            f"{path}: not a segment's file name, expected <ULID>.jsonl or <ULID>.open.jsonl"
        )
    campaign = check_campaign(path.absolute().parent.name)
    return SegmentPath(campaign, match["segment"], path, match["suffix"] == SEALED_SUFFIX)


def check_campaign(name: str) -> str:
    """The name, if a campaign may be called so.

    Raises:
        InvalidInputError: it would not be a plain folder name.

    """
    if not is_campaign_name(name):
        raise InvalidInputError(
            f"campaign name {name[:120]!r}: use at most 100 letters, digits, '-', '_' and single inner dots"
        )
    return name


def check_segment(segment: str) -> str:
    """The id, if it is a ULID.

    Raises:
        InvalidInputError: it is none.

    """
    if not is_segment_id(segment):
        raise InvalidInputError(f"segment id {segment[:120]!r}: expected a ULID, 26 upper-case characters")
    return segment


def is_segment_file(path: Path) -> bool:
    """Whether a file is named like a segment."""
    match = _FILE.match(path.name)
    return match is not None and is_segment_id(match["segment"])


def is_leftover(path: Path) -> bool:
    """Whether a crash may have left this file before anyone was told of it; a live process may hold it."""
    return path.name.endswith(_LEFTOVERS) and not path.is_dir()


def is_campaign_folder(path: Path) -> bool:
    """Whether a path is a folder that a campaign may have."""
    return is_campaign_name(path.name) and path.is_dir()
