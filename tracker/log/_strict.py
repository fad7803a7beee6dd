"""From bytes to an event, or to the exact reason why not: only the one canonical spelling is let in."""

import json
import re
import sys
from datetime import datetime
from hashlib import sha256
from typing import Any, NoReturn

import orjson
from pydantic import ValidationError

from schemas import (
    DIGEST_PATTERN,
    LARGEST_EXACT_INTEGER,
    MAX_LINE_BYTES,
    TIME_PATTERN,
    TYPE_PATTERN,
    ULID_PATTERN,
    Event,
    InvalidInputError,
    canonical_json,
    digest_bytes,
    join_line,
    wrong_fields,
)
from tracker.log._spelling import Speller

MAX_DEPTH = 64
MAX_DIGITS = 309
"""As many as the largest double has."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")


class RefusedLine(ValueError):
    """A line that is no event; its text is the reason, without a place."""


def _group(pattern: str) -> bytes:
    return b"(" + pattern.strip("^$").replace("(", "(?:").encode() + b")"


# What stands before and after source and subject.
_BEFORE = re.compile(
    rb'\{"data":(\{.*\}),"digest":"%b","id":"%b","prev":"%b","seq":(0|[1-9][0-9]{0,14})'
    % (_group(DIGEST_PATTERN), _group(ULID_PATTERN), _group(DIGEST_PATTERN)),
    re.DOTALL,
)
_AFTER = re.compile(
    rb'%b","type":"%b","version":([1-9][0-9]{0,5})\}' % (_group(TIME_PATTERN), _group(TYPE_PATTERN))
)
_DIGEST_MARK, _DIGEST_END = len(b',"digest":"'), 64 + len(b'"')


class LineParser:
    """`parse_line` for the lines of one segment, several times as fast while source and subject are the same.

    Two patterns find the little that differs outside the data; the data is right when it is spelled again as
    it stands there. Every other line is for `parse_line` to take or to refuse.
    """

    def __init__(self) -> None:
        self._speller = Speller()
        self._middle = b""
        self._common: dict[str, Any] = {}

    def parse(self, line: bytes) -> Event:
        """The event on a line (given without its newline), its digest verified.

        Raises:
            RefusedLine: why it is not let in.

        """
        event = self._parse_alike(line) if self._common else None
        if event is None:
            event = parse_line(line)
            common = {"source": event.source, "subject": event.subject}
            if common != self._common:
                self._common = common
                source, subject = canonical_json(event.source.plain()), canonical_json(event.subject)
                self._middle = b',"source":%b,"subject":%b,"time":"' % (source, subject)
        return event

    def _parse_alike(self, line: bytes) -> Event | None:
        """The event, if the line is right and has the source and subject of the last one that took long."""
        left, middle, right = line.rpartition(self._middle)
        before, after = _BEFORE.fullmatch(left), _AFTER.fullmatch(right)
        if not middle or before is None or after is None or len(line) > MAX_LINE_BYTES:
            return None
        data, split = self._read_data(before[1]), before.start(2)
        tail = line[split + _DIGEST_END :]
        digest, time = before[2].decode(), after[1].decode()
        if data is None or sha256(line[: split - _DIGEST_MARK] + tail).hexdigest() != digest:
            return None
        try:
            datetime.fromisoformat(time)
        except ValueError:
            return None
        return trusted_event(
            {
                "id": before[3].decode(),
                "type": after[2].decode(),
                "version": int(after[3]),
                **self._common,
                "time": time,
                "data": data,
                "seq": int(before[5]),
                "prev": before[4].decode(),
                "digest": digest,
            }
        )

    def _read_data(self, payload: bytes) -> dict[str, Any] | None:
        """The object, where it is flat and spelled canonically."""
        try:
            data = orjson.loads(payload)
        except orjson.JSONDecodeError:
            return None
        return data if self._speller.spell_flat(data) == payload else None


def trusted_event(fields: dict[str, Any]) -> Event:
    """An event of these fields, which are right; `model_construct` takes five times as long."""
    event = Event.__new__(Event)
    object.__setattr__(event, "__dict__", fields)
    object.__setattr__(event, "__pydantic_fields_set__", set(fields))
    object.__setattr__(event, "__pydantic_extra__", None)
    object.__setattr__(event, "__pydantic_private__", None)
    return event


def parse_line(line: bytes) -> Event:
    """The event on a line (given without its newline), its digest verified.

    Raises:
        RefusedLine: why it is not let in.

    """
    if len(line) > MAX_LINE_BYTES:
        raise RefusedLine(f"a line of {len(line)} bytes, {MAX_LINE_BYTES} are allowed")
    check_depth(line)
    event, head, tail = _parse_leniently(line) or _parse_strictly(line)
    computed = digest_bytes(head + tail)
    if computed != event.digest:
        raise RefusedLine(f"a digest of {event.digest} where the bytes give {computed}")
    return event


def _parse_leniently(line: bytes) -> tuple[Event, bytes, bytes] | None:
    """Fast: whatever a lenient parser lets through shows when the event is spelled again."""
    try:
        event = Event.model_validate(json.loads(line))
        head, tail = event.halves()
    except ValueError:
        return None
    return (event, head, tail) if join_line(head, event.digest, tail) == line else None


def _parse_strictly(line: bytes) -> tuple[Event, bytes, bytes]:
    """Slower, for lines that are wrong or unusual: says exactly what is wrong."""
    try:
        value = json.loads(
            line.decode("utf-8"),
            object_pairs_hook=_pairs,
            parse_constant=_refuse_constant,
            parse_int=_exact_integer,
        )
        event = Event.model_validate(value)
        head, tail = event.halves()
    except UnicodeDecodeError as error:
        raise RefusedLine(f"bytes that are not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise RefusedLine(f"no JSON: {error.msg} at character {error.pos}") from error
    except ValidationError as error:
        raise RefusedLine(f"no event: {wrong_fields(error)}") from error
    except InvalidInputError as error:
        raise RefusedLine(str(error)) from error
    if join_line(head, event.digest, tail) != line:
        raise RefusedLine("JSON that is not canonical (RFC 8785): unsorted, spaced or spelled otherwise")
    return event, head, tail


def check_depth(line: bytes) -> None:
    """Refuse JSON whose values are nested too deep to be read everywhere.

    Raises:
        RefusedLine: it is deeper than `MAX_DEPTH`.

    """
    if line.count(b"{") + line.count(b"[") <= MAX_DEPTH:
        return
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", line)):
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_DEPTH:
            raise RefusedLine(f"values nested deeper than {MAX_DEPTH} levels")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RefusedLine(f"the duplicate key {twice[:80]!r}")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise RefusedLine(f"{name}, which is no JSON")


def _exact_integer(digits: str) -> int | float:
    if len(digits) > MAX_DIGITS:
        raise RefusedLine(f"an integer of {len(digits)} digits")
    value = int(digits)
    if abs(value) > sys.float_info.max:
        raise RefusedLine("an integer beyond every double")
    # RFC 8785 writes large doubles without an exponent; an integer that no double holds is not canonical.
    return value if abs(value) <= LARGEST_EXACT_INTEGER else float(value)
