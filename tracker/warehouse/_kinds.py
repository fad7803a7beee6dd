"""What is kept of segments in files of their own, kind by kind, and how each is made of their lines."""

from collections.abc import Iterable
from pathlib import Path

import duckdb

from tracker.log import crash_point
from tracker.warehouse._columns import LINES
from tracker.warehouse._folder import Folder
from tracker.warehouse._project import SAMPLE
from tracker.warehouse._sources import quoted, rule_texts, sql_list

RULES = {"medians": "usable_medians", "outcomes": "attempt_outcomes", "listed": "listed_candidates"}
"""The macro that makes each kind which is computed; all of them look at one segment at a time."""

KINDS = ("facts", "samples", *RULES)
"""Lines that are no samples, samples, and what is computed."""

_COPY = "COPY ({}) TO {} (FORMAT parquet, COMPRESSION zstd)"


def create_rules(connection: duckdb.DuckDBPyConnection) -> None:
    """Define the macros."""
    connection.execute("; ".join(rule_texts()))


def kind_of_lines(kind: str, lines: str) -> str:
    """The statement that makes a kind.

    Args:
        kind: one of `KINDS`.
        lines: a name of whole segments' lines.

    """
    if kind in RULES:
        return f"FROM {RULES[kind]}('{lines}')"
    return f"FROM {lines} WHERE type {'=' if kind == 'samples' else '<>'} '{SAMPLE}'"


def kind_of_files(kind: str, paths: Iterable[Path]) -> str:
    """The same, of segments' files."""
    return f"WITH lines AS (FROM {read_files(paths)}) {kind_of_lines(kind, 'lines')}"


def read_files(paths: Iterable[Path]) -> str:
    """All rows of Parquet files with the same columns."""
    return f"read_parquet({sql_list(str(path) for path in paths)})"


def publish(folder: Folder, connection: duckdb.DuckDBPyConnection, select: str, path: Path) -> str:
    """Write a statement's rows to a file, whole and durable or not at all; returns its digest."""
    temporary = folder.temporary(path)
    crash_point("compact.before")
    connection.execute(_COPY.format(select, quoted(str(temporary))))
    digest = folder.settle(temporary)
    folder.disk.rename(temporary, path)
    crash_point("compact.after")
    return digest


def empty_kind(kind: str) -> str:
    """The name of the empty file with a kind's columns."""
    return kind if kind in RULES else "lines"


def write_empty_files(folder: Folder) -> None:
    """Make the empty files that are missing."""
    if has_empty_files(folder):
        return
    folder.write_parquet(folder.empty("lines"), LINES.empty_table())
    with duckdb.connect() as connection:
        create_rules(connection)
        for kind in RULES:
            publish(folder, connection, kind_of_files(kind, [folder.empty("lines")]), folder.empty(kind))


def has_empty_files(folder: Folder) -> bool:
    """Whether every kind has its empty file."""
    return all(folder.empty(empty_kind(kind)).exists() for kind in KINDS)
