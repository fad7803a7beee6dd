"""Where the next line of a segment comes from: numbered, chained, digested, counted into the Merkle tree."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError
from ulid import ULID

from schemas import Event, InvalidInputError, Source, canonical_json, digest_bytes
from schemas._base import explain
from schemas._event import MAX_LINE_BYTES, genesis_digest, join_line, line_halves
from tracker.log._merkle import MerkleTree
from tracker.log._names import SEALED


class LineEncoder:
    """The chain of one segment as its writer sees it; `tree` and `head` go on from lines already there."""

    def __init__(
        self,
        source: Source,
        subject: Mapping[str, str],
        *,
        tree: MerkleTree | None = None,
        head: str | None = None,
    ) -> None:
        self.subject = dict(subject)
        self.tree = tree or MerkleTree()
        self.head = head or genesis_digest(self.subject["segment"])
        self._source = source
        self._source_json = canonical_json(source.plain())
        self._subject_json = canonical_json(self.subject)

    @property
    def count(self) -> int:
        """Lines so far, without the seal."""
        return self.tree.count

    def encode(self, type: str, data: Mapping[str, Any], version: int = 1) -> tuple[bytes, Event]:
        """The next line, newline included, and its event as a reader will see it.

        Raises:
            InvalidInputError: the type, version or data cannot stand in a line; the chain is as before.

        """
        payload = canonical_json(dict(data))
        identifier, time, seq = str(ULID()), _now(), self.count
        head, tail = line_halves(
            payload,
            self._source_json,
            self._subject_json,
            identifier=identifier,
            prev=self.head,
            seq=seq,
            time=time,
            type=type,
            version=version,
        )
        digest = digest_bytes(head + tail)
        line = join_line(head, digest, tail)
        if len(line) > MAX_LINE_BYTES:
            raise InvalidInputError(
                f"{type}: the event has {len(line)} bytes, at most {MAX_LINE_BYTES} fit a line; "
                "split it, or store the bulk as a file and record its digest"
            )
        try:
            event = Event(
                id=identifier,
                type=type,
                version=version,
                source=self._source,
                subject=self.subject,
                time=time,
                data=json.loads(payload),
                seq=seq,
                prev=self.head,
                digest=digest,
            )
        except ValidationError as error:
            raise InvalidInputError(f"event {type[:80]!r}: {explain(error)}") from error
        self.head = digest
        if type != SEALED:
            self.tree.add(line)
        return line + b"\n", event

    def seal(self) -> tuple[bytes, Event]:
        """The last line: how many lines there are and their Merkle root."""
        return self.encode(SEALED, {"count": self.count, "root": self.tree.root()})


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
