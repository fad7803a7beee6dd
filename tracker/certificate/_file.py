"""The certificate as a file: canonical JSON values, one line a cell, so that two differ line by line."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any, cast

from schemas import InvalidInputError, Statement, canonical_json

SIGNED = ".dsse.json"
"""How the name of a signed certificate's file ends."""


def certificate_name(campaign: str, digest: str, *, signed: bool = False) -> str:
    """The name of a certificate's file in a ledger."""
    return f"{campaign}-{digest[:12]}{SIGNED if signed else '.json'}"


def write_certificate(folder: Path, statement: Statement) -> Path:
    """Write the certificate's file: it appears whole and durable, or not at all."""
    path = folder / certificate_name(statement.predicate.campaign, statement.digest)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fresh-") as scratch:
        fresh = Path(scratch, path.name)
        with fresh.open("wb") as file:
            file.write(render_statement(statement))
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
    return path


def render_statement(statement: Statement) -> bytes:
    """The file's bytes: the canonical JSON of each part, cells and verdicts a line each.

    White space between parts is for people; the certificate's digest is over the canonical JSON of the whole.
    """
    whole = statement.plain()
    predicate = cast("dict[str, Any]", whole.pop("predicate"))
    head = [f"{_text(key)}:{_text(whole[key])}" for key in sorted(whole)]
    body = [f"  {_text(key)}:{_part(predicate[key])}" for key in sorted(predicate)]
    text = "{\n " + ",\n ".join([*head, '"predicate":{\n' + ",\n".join(body) + "\n }"]) + "\n}\n"
    return text.encode()


def _part(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        items = ",\n".join(f"   {_text(item)}" for item in cast("list[Any]", value))
        return f"[\n{items}\n  ]"
    if isinstance(value, dict) and value and all(isinstance(v, dict) for v in cast("Any", value).values()):
        entries = cast("dict[str, Any]", value)
        items = ",\n".join(f"   {_text(key)}:{_text(entries[key])}" for key in sorted(entries))
        return f"{{\n{items}\n  }}"
    return _text(value)


def _text(value: Any) -> str:
    return canonical_json(value).decode()


def read_statement(path: Path) -> Statement:
    """Parse a certificate file.

    Raises:
        InvalidInputError: unreadable, no JSON, another type, a field missing, subjects that do not agree.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInputError(
            f"{path}: cannot be read: {error.strerror or error}; name a certificate's file"
        ) from error
    try:
        content = json.loads(data)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"{path}: not JSON: {error}; name a file that `layoutledger certify` wrote"
        ) from error
    if isinstance(content, dict) and "payload" in content:
        raise InvalidInputError(
            f"{path}: a signed certificate; `layoutledger certificate verify {path} --key KEY.pub "
            "--output FILE` says who signed it and takes it out"
        )
    return Statement.parse(content, where=str(path))
