"""From bytes to an event, or to the exact reason why not: only the one canonical spelling is let in."""

import json
import re
import sys
from typing import Any, NoReturn

from pydantic import ValidationError

from schemas import Event, InvalidInputError, digest_bytes
from schemas._base import explain
from schemas._canonical import LARGEST_EXACT_INTEGER
from schemas._event import MAX_LINE_BYTES, join_line

MAX_DEPTH = 64
MAX_DIGITS = 309
"""As many as the largest double has."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")


class RefusedLine(ValueError):
    """A line that is no event; its text is the reason, without a place."""


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
        raise RefusedLine(f"no event: {explain(error)}") from error
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
