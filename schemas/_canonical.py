"""Canonical JSON (RFC 8785) and sha256 digests: what is hashed is what is written."""

import hashlib
import json
from pathlib import Path
from typing import Any, cast

import rfc8785

from schemas._errors import InvalidInputError

LARGEST_EXACT_INTEGER = 2**53 - 1


def canonical_json(value: Any) -> bytes:
    """The one byte string of a JSON value: RFC 8785, integers above 2^53-1 as strings.

    Raises:
        InvalidInputError: the value holds NaN, an infinity or something JSON has no form for.

    """
    try:
        try:
            return _encode(_common(value)).encode()
        except _UncommonError:
            return rfc8785.dumps(_exact(value))
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInputError(
            f"cannot be written as canonical JSON: {error}; use finite numbers, strings, lists and objects"
        ) from error


def _exact(value: Any) -> Any:
    """Integers that a JSON reader might round become strings; containers are walked."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= LARGEST_EXACT_INTEGER else str(value)
    if isinstance(value, dict):
        return {key: _exact(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_exact(item) for item in cast("list[Any]", value)]
    return value


# The standard encoder is several times as fast, and right for what nearly every event is made of.
_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, sort_keys=True, separators=(",", ":")
).encode


class _UncommonError(Exception):
    """A value that the standard encoder spells otherwise than RFC 8785."""


def _common(value: Any) -> Any:
    """The value as `_exact` has it, when the standard encoder spells all of it as RFC 8785 does."""
    kind = cast("type[Any]", type(value))
    if kind is dict:
        # RFC 8785 sorts by UTF-16 units, Python by code points: alike in ASCII. Only text can be joined.
        if not "".join(value).isascii():
            raise _UncommonError
        return {key: item if type(item) in _AS_THEY_ARE else _common(item) for key, item in value.items()}
    if kind is float:
        # Python writes exponents below 1e-4, RFC 8785 below 1e-6; whole numbers have no point there.
        if 1e-4 <= value <= LARGEST_EXACT_INTEGER or -LARGEST_EXACT_INTEGER <= value <= -1e-4 or value == 0:
            return int(value) if float.is_integer(value) else value
        raise _UncommonError
    if kind is int:
        return value if -LARGEST_EXACT_INTEGER <= value <= LARGEST_EXACT_INTEGER else str(value)
    if kind is list or kind is tuple:
        return [item if type(item) in _AS_THEY_ARE else _common(item) for item in value]
    if kind in _AS_THEY_ARE:
        return value
    raise _UncommonError


_AS_THEY_ARE = frozenset({str, bool, type(None)})


def digest_bytes(data: bytes) -> str:
    """Lower-case sha256 of the bytes, 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def digest_json(value: Any) -> str:
    """sha256 of the canonical JSON of a value."""
    return digest_bytes(canonical_json(value))


def digest_file(path: Path) -> str:
    """sha256 of a file's bytes."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
