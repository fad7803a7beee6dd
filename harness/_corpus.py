"""A user's own token groups, read from a JSONL or Parquet file; the ledger learns lengths, tree and digest.

JSONL: a row a line, either a list of tokens or `{"tokens": [...], "group": 3}`. Parquet (`.parquet`): a
column `tokens` of lists, and a column `group` if there are groups. Tokens are ids of the model's vocabulary,
or hashes (strings or whole numbers) of which only equality is read. No message names a token.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from planner import build_prefix_tree
from schemas import CorpusShape, InvalidInputError, NotFoundError, digest_bytes

TokenKind = Literal["ids", "hashes"]
PARQUET = ".parquet"


@dataclass(frozen=True, slots=True)
class CorpusRow:
    """A row: where it stands in the file, in words; its tokens; its group, if the file has groups."""

    where: str
    tokens: Sequence[int | str]
    group: int | None


def read_corpus(
    path: str, *, tokens: TokenKind, digest: str | None = None, group: int | None = None
) -> list[CorpusRow]:
    """The rows of a file in its order; those of one group, if one is asked for.

    Args:
        path: the file; one that ends in `.parquet` is read as Parquet, any other as JSONL.
        tokens: whether they are vocabulary ids or hashes.
        digest: sha256 that the file must have.
        group: keep the rows of this group.

    Raises:
        NotFoundError: no such file, or another than the one of that digest.
        InvalidInputError: naming the file and the line or row; nothing that stands in it is repeated.

    """
    content = _content(path, digest)
    rows = list(_parquet_rows(path, content) if path.endswith(PARQUET) else _json_rows(path, content))
    if not rows:
        raise InvalidInputError(
            f"workload file {path} holds no rows; write one JSON list of tokens a line (JSONL), or a column "
            "`tokens` of lists (Parquet)"
        )
    for row in rows:
        _check_tokens(row, tokens)
    return rows if group is None else _of_group(path, rows, group)


def corpus_digest(path: str) -> str:
    """sha256 of the file.

    Raises:
        NotFoundError: no such file.
        InvalidInputError: it cannot be read.

    """
    return digest_bytes(_content(path, None))


def equal_numbers(rows: Sequence[Sequence[int | str]]) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    """Rows of whole numbers that are equal exactly where the tokens are: 0, 1, ... as first seen."""
    numbers: dict[tuple[type, int | str], int] = {}
    return [
        np.array([numbers.setdefault((type(token), token), len(numbers)) for token in row], dtype=np.int64)
        for row in rows
    ]


def corpus_shape(rows: Sequence[Any], digest: str) -> CorpusShape:
    """What the ledger keeps of rows of equal numbers or ids, and of the file they came from."""
    tree = build_prefix_tree(rows)
    return CorpusShape(
        digest=digest,
        row_lengths=tuple(tree.row_lengths),
        segments=tuple(zip(tree.parents, tree.starts, tree.ends, strict=True)),
        row_segments=tuple(tree.row_nodes),
    )


def _content(path: str, digest: str | None) -> bytes:
    if Path(path).exists() and not Path(path).is_file():
        raise InvalidInputError(f"workload file {path} is no file; each rank reads it again, from its start")
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise NotFoundError(
            f"workload file {path} does not exist; put it back, or give `path` an existing JSONL or Parquet "
            "file"
        ) from error
    except OSError as error:
        raise InvalidInputError(f"workload file {path} cannot be read: {error}") from error
    if digest is not None and digest_bytes(content) != digest:
        raise NotFoundError(
            f"workload file {path} is not the one that was registered: its sha256 is "
            f"{digest_bytes(content)[:12]}…, registered was {digest[:12]}…; put the registered file back, or "
            "register a campaign of another name with this one"
        )
    return content


def _json_rows(path: str, content: bytes) -> Iterator[CorpusRow]:
    try:
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"workload file {path}: byte {error.start + 1} is not UTF-8") from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            where = f"workload file {path}, line {number}"
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                raise InvalidInputError(f"{where}: not JSON") from None
            tokens, group = (
                (value.get("tokens"), value.get("group")) if isinstance(value, dict) else (value, None)
            )
            yield _row(where, tokens, group)


def _parquet_rows(path: str, content: bytes) -> Iterator[CorpusRow]:
    # Here alone: no other workload needs it.
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(pyarrow.BufferReader(content))
    except (pyarrow.ArrowException, OSError) as error:
        raise InvalidInputError(f"workload file {path} is not Parquet: {type(error).__name__}") from None
    if "tokens" not in table.column_names:
        raise InvalidInputError(
            f"workload file {path} has no column `tokens`; its columns are {', '.join(table.column_names)}"
        )
    tokens = table.column("tokens").to_pylist()
    groups = table.column("group").to_pylist() if "group" in table.column_names else [None] * len(tokens)
    for number, (row, group) in enumerate(zip(tokens, groups, strict=True), 1):
        yield _row(f"workload file {path}, row {number}", row, group)


def _row(where: str, tokens: Any, group: Any) -> CorpusRow:
    if not isinstance(tokens, list) or not tokens:
        raise InvalidInputError(f"{where}: not a list of one or more tokens")
    if group is not None and (type(group) is not int or group < 0):
        raise InvalidInputError(f"{where}: its group is not a whole number of at least 0")
    return CorpusRow(where, tokens, group)


def _check_tokens(row: CorpusRow, tokens: TokenKind) -> None:
    allowed = (int,) if tokens == "ids" else (int, str)
    wrong = next((place for place, token in enumerate(row.tokens, 1) if type(token) not in allowed), None)
    if wrong is not None:
        wanted = (
            'a token id; if these are hashes, say so: parameters = { tokens = "hashes", ... }'
            if tokens == "ids"
            else "a hash: a string or a whole number"
        )
        raise InvalidInputError(f"{row.where}: token {wrong} of the row is not {wanted}")


def _of_group(path: str, rows: Sequence[CorpusRow], group: int) -> list[CorpusRow]:
    kept = [row for row in rows if row.group == group]
    if not kept:
        there = sorted({row.group for row in rows if row.group is not None})
        listed = ", ".join(map(str, there[:20])) + (" …" if len(there) > 20 else "")
        raise InvalidInputError(
            f"workload file {path} has no group {group}; its groups are: {listed or 'none, no row names one'}"
        )
    return kept
