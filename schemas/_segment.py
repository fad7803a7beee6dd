"""What a segment says of itself, and of those before it, in its first line."""

from pydantic import ConfigDict, Field

from schemas._base import Record
from schemas._event import DIGEST_PATTERN, ULID_PATTERN


class SegmentLink(Record):
    """A segment of the same campaign that was sealed before this one was opened."""

    segment: str = Field(pattern=ULID_PATTERN, description="its id")
    head: str = Field(
        pattern=DIGEST_PATTERN,
        description="digest of its seal, which holds the count and the Merkle root of its lines",
    )


class SegmentOpened(Record):
    """The first line of every segment; a writer may add fields of its own."""

    model_config = ConfigDict(extra="allow")

    segment: str = Field(description="its id, a ULID")
    campaign: str = Field(description="its campaign, the folder's name")
    unit: str = Field(description="the unit of work that it is about")
    follows: tuple[SegmentLink, ...] = Field(
        default=(), description="sealed segments that none had named yet, ascending by id: evidence of them"
    )
