"""The envelope of every event: one line of canonical JSON, chained to the one before (design section 4)."""

import re
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field

from schemas._base import Record
from schemas._canonical import canonical_json, digest_bytes

MAX_LINE_BYTES = 999_999

ULID_PATTERN = r"^[0-7][0-9A-HJKMNP-TV-Z]{25}$"
DIGEST_PATTERN = r"^[0-9a-f]{64}$"
TYPE_PATTERN = r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$"
TIME_PATTERN = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$"
CAMPAIGN_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$"
CAMPAIGN_LENGTH = 100

_CAMPAIGN = re.compile(CAMPAIGN_PATTERN.replace("$", r"\Z"))
_ULID = re.compile(ULID_PATTERN.replace("$", r"\Z"))


class Unit(StrEnum):
    """What one segment is about: one unit of work, one writer, one file, one MLflow run."""

    CAMPAIGN = "campaign"
    ATTEMPT = "attempt"
    EXCLUSION = "exclusion"
    FIT = "fit"
    CERTIFICATE = "certificate"
    REGISTRATION = "registration"
    PROMOTION = "promotion"
    REVIEW = "review"
    IMPORT = "import"
    MEMORY_OBSERVATION = "memory_observation"
    SELECTION = "selection"
    UNKNOWN = "unknown"
    """Only recovery writes it: the first line was torn, so nobody knows what the writer was about."""


class Source(Record):
    """Who wrote the event."""

    model_config = ConfigDict(strict=True)

    host: str
    pid: int = Field(ge=0)
    tool: str = Field(description="name and version")


def _real_time(text: str) -> str:
    datetime.fromisoformat(text)
    return text


class Event(Record):
    """One line of a segment; attribute names from CloudEvents.

    `digest` is the sha256 of the canonical line without the `digest` member; `prev` is the digest of the line
    before, or `genesis_digest(segment)` for line 0.
    """

    model_config = ConfigDict(strict=True)

    id: str = Field(pattern=ULID_PATTERN)
    type: str = Field(pattern=TYPE_PATTERN)
    version: int = Field(ge=1, le=1_000_000, description="schema version of the type")
    source: Source
    subject: dict[str, str] = Field(description="campaign, segment, and what it is about: cell, attempt, fit")
    time: Annotated[str, Field(pattern=TIME_PATTERN), AfterValidator(_real_time)]
    data: dict[str, Any]
    seq: int = Field(ge=0)
    prev: str = Field(pattern=DIGEST_PATTERN)
    digest: str = Field(pattern=DIGEST_PATTERN)

    def line(self) -> bytes:
        """The event's canonical line, without a newline."""
        head, tail = self.halves()
        return join_line(head, self.digest, tail)

    def computed_digest(self) -> str:
        """What `digest` has to be."""
        return digest_bytes(b"".join(self.halves()))

    def halves(self) -> tuple[bytes, bytes]:
        """The canonical line before and after its `digest` member."""
        return line_halves(
            canonical_json(self.data),
            canonical_json(self.source.plain()),
            canonical_json(self.subject),
            identifier=self.id,
            prev=self.prev,
            seq=self.seq,
            time=self.time,
            type=self.type,
            version=self.version,
        )


def line_halves(
    data: bytes,
    source: bytes,
    subject: bytes,
    *,
    identifier: str,
    prev: str,
    seq: int,
    time: str,
    type: str,
    version: int,
) -> tuple[bytes, bytes]:
    """The canonical line before and after its `digest` member; together they are what is digested.

    `data`, `source` and `subject` are canonical JSON already; the rest needs no escapes. The members stand in
    RFC 8785 order.
    """
    tail = (
        b',"id":"%s","prev":"%s","seq":%d,"source":%s,"subject":%s,"time":"%s","type":"%s","version":%d}'
        % (identifier.encode(), prev.encode(), seq, source, subject, time.encode(), type.encode(), version)
    )
    return b'{"data":' + data, tail


def join_line(head: bytes, digest: str, tail: bytes) -> bytes:
    """The whole line, without a newline."""
    return b'%s,"digest":"%s"%s' % (head, digest.encode(), tail)


def genesis_digest(segment: str) -> str:
    """The `prev` of a segment's first line: sha256 of the id, so that no line fits another segment."""
    return digest_bytes(segment.encode())


def is_campaign_name(name: str) -> bool:
    """Whether a campaign may be called so: letters, digits, `_`, `-`, single inner dots, 100 characters."""
    return len(name) <= CAMPAIGN_LENGTH and _CAMPAIGN.match(name) is not None


def is_segment_id(segment: str) -> bool:
    """Whether this is a ULID in its one spelling."""
    return _ULID.match(segment) is not None
