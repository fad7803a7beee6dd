"""Where the next line of a segment comes from: numbered, chained, digested, counted into the Merkle tree."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from schemas import Event, InvalidInputError, Source, canonical_json, digest_bytes
from schemas._event import MAX_LINE_BYTES, TYPE_PATTERN, genesis_digest, join_line, line_halves
from tracker.log._merkle import MerkleTree
from tracker.log._names import SEALED
from tracker.log._spelling import Speller
from tracker.log._stamp import Stamps
from tracker.log._strict import RefusedLine, check_depth

_ANY_ID, _ANY_DIGEST = "0" * 26, "0" * 64
_TYPE = re.compile(TYPE_PATTERN.replace("$", r"\Z"))


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
        self._stamps = Stamps()
        self._speller = Speller()

    @property
    def count(self) -> int:
        """Lines so far, without the seal."""
        return self.tree.count

    def encode(self, type: str, data: Mapping[str, Any], version: int = 1) -> tuple[bytes, Event]:
        """The next line, newline included, and its event as a reader will see it.

        Raises:
            InvalidInputError: the type, version or data cannot stand in a line; the chain is as before.

        """
        _check_type(type, version)
        payload = self._speller.spell(data)
        seq, prev = self.count, self.head
        identifier, time, digest, line = self._spell(type, payload, version, seq, prev)
        # What was just spelled needs no check; every reader makes one.
        event = Event.model_construct(
            id=identifier,
            type=type,
            version=version,
            source=self._source,
            subject=self.subject,
            time=time,
            data=json.loads(payload),
            seq=seq,
            prev=prev,
            digest=digest,
        )
        self.head = digest
        if type != SEALED:
            self.tree.add(line)
        return line + b"\n", event

    def encode_line(self, type: str, data: Mapping[str, Any], version: int = 1) -> bytes:
        """The next line, newline included, for those who need no event.

        Raises:
            InvalidInputError: as `encode`.

        """
        _check_type(type, version)
        payload = self._speller.spell(data)
        _, _, self.head, line = self._spell(type, payload, version, self.count, self.head)
        self.tree.add(line)
        return line + b"\n"

    def encode_many(
        self, type: str, rows: Iterable[Mapping[str, Any]], version: int = 1
    ) -> tuple[bytes, int]:
        """The next lines, one a row, and how many they are; all or none.

        Raises:
            InvalidInputError: as `encode`.

        """
        _check_type(type, version)
        payloads = [self._speller.spell(row) for row in rows]
        identifiers, time = self._stamps.many(len(payloads))
        form = self._tail_form(type, version, time)
        lines: list[bytes] = []
        seq, prev = self.count, self.head
        for payload, identifier in zip(payloads, identifiers, strict=True):
            head, tail = b'{"data":' + payload, form % (identifier.encode(), prev.encode(), seq)
            prev = digest_bytes(head + tail)
            lines.append(_checked(type, join_line(head, prev, tail)))
            seq += 1
        self.head = prev
        for line in lines:
            self.tree.add(line)
        lines.append(b"")
        return b"\n".join(lines), len(lines) - 1

    def _tail_form(self, type: str, version: int, time: str) -> bytes:
        """What follows the digest in a line, with places for id, prev and seq: they stand first in it."""
        _, tail = line_halves(
            b"",
            self._source_json,
            self._subject_json,
            identifier=_ANY_ID,
            prev=_ANY_DIGEST,
            seq=0,
            time=time,
            type=type,
            version=version,
        )
        form = tail.replace(b"%", b"%%").replace(_ANY_ID.encode(), b"%b", 1)
        return form.replace(_ANY_DIGEST.encode(), b"%b", 1).replace(b'"seq":0,', b'"seq":%d,', 1)

    def seal(self) -> tuple[bytes, Event]:
        """The last line: how many lines there are and their Merkle root."""
        return self.encode(SEALED, {"count": self.count, "root": self.tree.root()})

    def _spell(
        self, type: str, payload: bytes, version: int, seq: int, prev: str
    ) -> tuple[str, str, str, bytes]:
        """Id, time, digest and line (without its newline)."""
        identifier, time = self._stamps.next()
        head, tail = line_halves(
            payload,
            self._source_json,
            self._subject_json,
            identifier=identifier,
            prev=prev,
            seq=seq,
            time=time,
            type=type,
            version=version,
        )
        digest = digest_bytes(head + tail)
        return identifier, time, digest, _checked(type, join_line(head, digest, tail))


def _checked(type: str, line: bytes) -> bytes:
    if len(line) > MAX_LINE_BYTES:
        raise InvalidInputError(
            f"{type}: the event has {len(line)} bytes, at most {MAX_LINE_BYTES} fit a line; "
            "split it, or store the bulk as a file and record its digest"
        )
    try:
        check_depth(line)
    except RefusedLine as error:
        raise InvalidInputError(f"{type}: {error}; flatten the data") from error
    return line


def _check_type(type: str, version: int) -> None:
    if not _TYPE.match(type):
        raise InvalidInputError(f"event type {type[:80]!r}: expected lower-case words joined by dots")
    if not 1 <= version <= 1_000_000:
        raise InvalidInputError(f"event type {type}: version {version} is not between 1 and 1000000")
