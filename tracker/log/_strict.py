"""From bytes to an event, or to the exact reason why not: only the one canonical spelling is let in."""

import json
from typing import Any, NoReturn

from pydantic import ValidationError

from schemas import Event, InvalidInputError, canonical_json
from schemas._base import explain
from schemas._event import MAX_LINE_BYTES

MAX_DEPTH = 64
_LARGEST = 2**53 - 1


class RefusedLine(ValueError):
    """A line that is no event; its text is the reason, without a place."""


def parse_line(line: bytes) -> Event:
    """The event on a line (given without its newline), its digest verified.

    Raises:
        RefusedLine: why it is not let in.

    """
    if len(line) > MAX_LINE_BYTES:
        raise RefusedLine(f"the line has {len(line)} bytes, at most {MAX_LINE_BYTES} are allowed")
    try:
        event = Event.model_validate(_parse_json(line))
    except ValidationError as error:
        raise RefusedLine(f"not an event: {explain(error)}") from error
    # The exact bytes are demanded, so a second spelling of the same values cannot slip in.
    if event.line() != line:
        raise RefusedLine("not canonical JSON (RFC 8785): members unsorted, spaces, or a number respelled")
    computed = event.computed_digest()
    if computed != event.digest:
        raise RefusedLine(f"digest does not match: the line says {event.digest}, its bytes give {computed}")
    return event


def _parse_json(line: bytes) -> Any:
    try:
        text = line.decode("utf-8")
        if _depth_bound(line) > MAX_DEPTH:
            _refuse_depth(text)
        value = json.loads(
            text, object_pairs_hook=_pairs, parse_constant=_refuse_constant, parse_int=_exact_integer
        )
        canonical_json(value)
    except UnicodeDecodeError as error:
        raise RefusedLine(f"not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise RefusedLine(f"not JSON: {error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise RefusedLine(f"nested deeper than {MAX_DEPTH} levels") from error
    except InvalidInputError as error:
        raise RefusedLine(str(error)) from error
    return value


def _depth_bound(line: bytes) -> int:
    return line.count(b"{") + line.count(b"[")


def _refuse_depth(text: str) -> None:
    depth, in_string, escaped = 0, False, False
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise RefusedLine(f"nested deeper than {MAX_DEPTH} levels")
        elif character in "]}":
            depth -= 1


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RefusedLine(f"duplicate key {twice[:80]!r}")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise RefusedLine(f"{name} is not JSON")


def _exact_integer(digits: str) -> int | float:
    if len(digits) > 400:
        raise RefusedLine(f"an integer of {len(digits)} digits")
    value = int(digits)
    if abs(value) <= _LARGEST:
        return value
    # RFC 8785 writes a large double without an exponent; an integer that no double holds is respelled.
    return float(value)
