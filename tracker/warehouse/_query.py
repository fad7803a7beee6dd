"""One SQL statement over the views, and its rows."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import duckdb

from schemas import InvalidInputError
from tracker.warehouse._arrow import Table, arrow
from tracker.warehouse._connect import open_views
from tracker.warehouse._folder import Folder

_EXPLAIN = re.compile(r"\s*explain(\s+analyze)?\s", re.IGNORECASE)

_READING = (duckdb.StatementType.SELECT,)
_WITH_FILES = (*_READING, duckdb.StatementType.COPY)

SHOW_VIEWS = """
SELECT view_name FROM duckdb_views()
WHERE NOT internal AND NOT starts_with(view_name, '_') ORDER BY view_name
"""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What a statement gave.

    Args:
        table: columns and rows, typed.

    """

    table: Table

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names, in order."""
        return tuple(self.table.column_names)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Rows as Python values: structs are dicts, lists lists."""
        for batch in self.table.to_batches():
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def records(self) -> list[dict[str, Any]]:
        """Rows by column name; of columns with the same name the last."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows()]


def run_query(folder: Folder, sql: str, *, allow_files: bool) -> QueryResult:
    """Run one statement that only reads.

    Args:
        folder: the warehouse, refreshed.
        sql: a SELECT, FROM, DESCRIBE, SUMMARIZE, SHOW or EXPLAIN statement.
        allow_files: whether it may read other files, and COPY to them.

    Raises:
        InvalidInputError: not one such statement, or DuckDB refuses it; its message, and the views there are.

    """
    with open_views(folder, allow_files=allow_files) as connection:
        try:
            _check_statement(connection, sql, _WITH_FILES if allow_files else _READING)
            # What gives no rows, a COPY, is no relation.
            relation = cast("duckdb.DuckDBPyRelation | None", connection.sql(sql))
            return QueryResult(arrow.table({}) if relation is None else relation.to_arrow_table())
        except duckdb.Error as error:
            raise InvalidInputError(_explain(connection, str(error))) from error


def _check_statement(
    connection: duckdb.DuckDBPyConnection, sql: str, allowed: tuple[duckdb.StatementType, ...]
) -> None:
    # EXPLAIN ANALYZE runs what it explains, so that is looked at.
    statements = connection.extract_statements(_EXPLAIN.sub("", sql, count=1) if _EXPLAIN.match(sql) else sql)
    if len(statements) != 1:
        raise InvalidInputError(f"{len(statements)} SQL statements: give one; several can be joined by WITH")
    found = statements[0].type
    if found not in allowed:
        copies = found == duckdb.StatementType.COPY
        hint = "COPY needs --allow-files" if copies else "only the log is ever written to"
        raise InvalidInputError(
            f"a {found.name} statement: use SELECT, FROM, DESCRIBE, SUMMARIZE, SHOW or EXPLAIN; {hint}"
        )


def _explain(connection: duckdb.DuckDBPyConnection, message: str) -> str:
    hint = "views: " + ", ".join(row[0] for row in connection.execute(SHOW_VIEWS).fetchall())
    if "disabled by configuration" in message or "disabled through configuration" in message:
        hint = "other files and the network are out of reach; --allow-files opens files"
    return f"{message.strip()}\n{hint}; DESCRIBE a view to see its columns"
