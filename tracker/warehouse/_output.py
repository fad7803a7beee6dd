"""A query's rows as text for people and files for programs."""

import csv
import io
import json
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from schemas import StoreUnavailableError
from tracker.warehouse._arrow import parquet
from tracker.warehouse._query import QueryResult

WIDEST = 60


def as_text(result: QueryResult) -> str:
    """Columns aligned by spaces, long values cut; numbers to the right, fractions to twelve digits."""
    rows = [[_cell(value) for value in row] for row in result.rows()]
    names = list(result.columns)
    widths = [max(len(row[i]) for row in [names, *rows]) for i in range(len(names))]
    numbers = [
        all(isinstance(value, (int, float, Decimal, type(None))) for value in column.to_pylist())
        for column in result.table.columns
    ]

    def line(cells: list[str]) -> str:
        parts = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, numbers, strict=True)
        ]
        return "  ".join(parts).rstrip()

    count = f"({len(rows)} row{'' if len(rows) == 1 else 's'})"
    return "\n".join([line(names), "  ".join("-" * width for width in widths), *map(line, rows), count])


def as_csv(result: QueryResult) -> str:
    """RFC 4180 with a header, lines ended for a shell; lists and structs as JSON, null as nothing."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(result.columns)
    for row in result.rows():
        writer.writerow("" if value is None else _scalar(value) for value in row)
    return text.getvalue()


def as_json(result: QueryResult) -> str:
    """A list of objects, one a row; floats in their shortest exact form."""
    lines = [json.dumps(_plain(record), ensure_ascii=False, allow_nan=False) for record in result.records()]
    return "[" + ",\n ".join(lines) + "]\n"


def write_parquet(result: QueryResult, path: Path) -> None:
    """One Parquet file, whole or not at all.

    Raises:
        StoreUnavailableError: it cannot be written there.

    """
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        parquet.write_table(result.table, temporary, compression="zstd")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StoreUnavailableError(
            f"{path}: cannot write: {error.strerror or error}; name a file in a folder that you may write to"
        ) from error


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.12g}"
    text = "" if value is None else _scalar(value)
    # What a log tail holds must not move the terminal's cursor.
    text = "".join(char if char.isprintable() else " " for char in text)
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _scalar(value: Any) -> str:
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (dict, list, tuple)):
        return json.dumps(_plain(value), ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(_plain(value))


def _plain(value: Any) -> Any:
    """What JSON has a form for; times as RFC 3339 in UTC, bytes in hexadecimal, non-finite floats as null."""
    match value:
        case dict():
            return {str(key): _plain(item) for key, item in cast("dict[Any, Any]", value).items()}
        case list() | tuple():
            return [_plain(item) for item in cast("list[Any]", value)]
        case datetime():
            return value.isoformat(timespec="microseconds") + ("Z" if value.tzinfo is None else "")
        case float() if value != value or value in (float("inf"), float("-inf")):
            return None
        case date() | timedelta() | Decimal():
            return str(value)
        case bytes():
            return value.hex()
        case _:
            return value
