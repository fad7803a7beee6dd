"""Where the next line of a segment comes from: numbered, chained, digested, counted into the Merkle tree."""

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import orjson

from schemas import (
    MAX_LINE_BYTES,
    TYPE_PATTERN,
    Event,
    InvalidInputError,
    Source,
    canonical_json,
    genesis_digest,
    line_halves,
)
from tracker.log._alike import spell_alike
from tracker.log._merkle import MerkleTree
from tracker.log._names import SEALED
from tracker.log._spelling import Speller
from tracker.log._stamp import Stamps
from tracker.log._strict import RefusedLine, check_depth, trusted_event

_TYPE = re.compile(TYPE_PATTERN.replace("$", r"\Z"))
_HEAD, _DIGEST = b'{"data":', b',"digest":"'


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
        self._tails: dict[tuple[str, int], bytes] = {}

    @property
    def count(self) -> int:
        """Lines so far, without the seal."""
        return self.tree.count

    def encode(self, type: str, data: Mapping[str, Any], version: int = 1) -> tuple[bytes, Event]:
        """The next line, newline included, and its event as a reader will see it.

        Raises:
            InvalidInputError: the type, version or data cannot stand in a line; the chain is as before.

        """
        payload = self._payload(type, data)
        tail, seq, prev = self._tail(type, version), self.count, self.head
        identifier, time = self._stamps.next()
        filled = tail % (identifier.encode(), prev.encode(), seq, time.encode())
        line, self.head = _line(type, payload, filled)
        # What was just spelled needs no check; every reader makes one.
        event = trusted_event(
            {
                "id": identifier,
                "type": type,
                "version": version,
                "source": self._source,
                "subject": self.subject,
                "time": time,
                "data": orjson.loads(payload),
                "seq": seq,
                "prev": prev,
                "digest": self.head,
            }
        )
        if type != SEALED:
            self.tree.add(line)
        return line + b"\n", event

    def encode_line(self, type: str, data: Mapping[str, Any], version: int = 1) -> bytes:
        """The next line, newline included, for those who need no event.

        Raises:
            InvalidInputError: as `encode`.

        """
        payload = self._payload(type, data)
        tail = self._tail(type, version)
        identifier, time = self._stamps.next()
        line, self.head = _line(
            type, payload, tail % (identifier.encode(), self.head.encode(), self.count, time.encode())
        )
        self.tree.add(line)
        return line + b"\n"

    def encode_many(self, type: str, rows: Iterable[Mapping[str, Any]], version: int = 1) -> list[bytes]:
        """The next lines, one a row, without their newlines; all or none.

        They are still to be taken into `tree`, before anything else is encoded: a writer does that while the
        disk is busy with them.

        Raises:
            InvalidInputError: as `encode`.

        """
        tail, rows = self._tail(type, version), list(rows)
        payloads = spell_alike(rows) or [self._payload(type, row).decode() for row in rows]
        identifiers, time = self._stamps.many(len(payloads))
        lines, head = _chain(payloads, identifiers, tail, time, self.head, self.count)
        _check_length(type, max(map(len, lines), default=0))
        self.head = head
        return lines

    def _payload(self, type: str, data: Mapping[str, Any]) -> bytes:
        """The data's canonical JSON; of scalars and lists of them it cannot be too deep."""
        flat = self._speller.spell_flat(data)
        if flat is not None:
            return flat
        payload = self._speller.spell(data)
        try:
            check_depth(_HEAD + payload + b"}")
        except RefusedLine as error:
            raise InvalidInputError(f"{type}: {error}; flatten the data") from error
        return payload

    def _tail(self, type: str, version: int) -> bytes:
        """What follows the digest in a line of this type, with places for id, prev, seq and time."""
        found = self._tails.get((type, version))
        if found is None:
            _check_type(type, version)
            found = self._tails[type, version] = self._make_tail(type, version)
        return found

    def _make_tail(self, type: str, version: int) -> bytes:
        _, tail = line_halves(
            b"",
            self._source_json.replace(b"%", b"%%"),
            self._subject_json.replace(b"%", b"%%"),
            identifier="%b",
            prev="%b",
            seq=0,
            time="%b",
            type=type,
            version=version,
        )
        # Id and prev stand before it, so that it is the first.
        return tail.replace(b'"seq":0,', b'"seq":%d,', 1)

    def seal(self) -> tuple[bytes, Event]:
        """The last line: how many lines there are and their Merkle root."""
        return self.encode(SEALED, {"count": self.count, "root": self.tree.root()})


def _line(type: str, payload: bytes, tail: bytes) -> tuple[bytes, str]:
    """A line without its newline, and its digest."""
    head = _HEAD + payload
    digest = sha256(head + tail).hexdigest()
    line = b"".join((head, _DIGEST, digest.encode(), b'"', tail))
    _check_length(type, len(line))
    return line, digest


def _chain(
    payloads: Sequence[str], identifiers: Sequence[str], tail: bytes, time: str, prev: str, first: int
) -> tuple[list[bytes], str]:
    """`_line` for each payload, without a call or a search for places; the lines, and the last digest."""
    # Each place has its mark, so that nothing else is taken for one.
    filled = (tail % (b"\0", b"\0", first, time.encode())).decode()
    before, between, rest = filled.split("\0")
    after = rest.removeprefix(f'","seq":{first}')
    lines: list[bytes] = []
    for seq, (payload, identifier) in enumerate(zip(payloads, identifiers, strict=True), first):
        end = f'{before}{identifier}{between}{prev}","seq":{seq}{after}'
        prev = sha256(f'{{"data":{payload}{end}'.encode()).hexdigest()
        lines.append(f'{{"data":{payload},"digest":"{prev}"{end}'.encode())
    return lines, prev


def _check_length(type: str, length: int) -> None:
    if length > MAX_LINE_BYTES:
        raise InvalidInputError(
            f"{type}: the event has {length} bytes, at most {MAX_LINE_BYTES} fit a line; "
            "split it, or store the bulk as a file and record its digest"
        )


def _check_type(type: str, version: int) -> None:
    if not _TYPE.match(type):
        raise InvalidInputError(f"event type {type[:80]!r}: expected lower-case words joined by dots")
    if not 1 <= version <= 1_000_000:
        raise InvalidInputError(f"event type {type}: version {version} is not between 1 and 1000000")
