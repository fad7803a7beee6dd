"""Canonical JSON (RFC 8785) and sha256 digests: what is hashed is what is written."""

import hashlib
from pathlib import Path
from typing import Any, cast

import rfc8785

from schemas._errors import InvalidInputError

LARGEST_EXACT_INTEGER = 2**53 - 1


def _exact(value: Any) -> Any:
    """Integers that a JSON reader might round become strings; containers are walked."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= LARGEST_EXACT_INTEGER else str(value)
    if isinstance(value, dict):
        return {key: _exact(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_exact(item) for item in cast("list[Any]", value)]
    return value


def canonical_json(value: Any) -> bytes:
    """The one byte string of a JSON value: RFC 8785, integers above 2^53-1 as strings.

    Raises:
        InvalidInputError: the value holds NaN, an infinity or something JSON has no form for.

    """
    try:
        return rfc8785.dumps(_exact(value))
    except (rfc8785.CanonicalizationError, TypeError, RecursionError) as error:
        raise InvalidInputError(
            f"cannot be written as canonical JSON: {error}; use finite numbers, strings, lists and objects"
        ) from error


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
