"""Segments that are in no part yet: their rows are tables in the views file.

There are few, but to open the file of each at every question would take longer than to read all the parts.
Samples, which are many and seldom asked for, are read from the files.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from schemas import CorruptionError, digest_file
from tracker.warehouse._folder import Folder
from tracker.warehouse._kinds import KINDS, RULES, kind_of_files
from tracker.warehouse._sources import quoted, sql_list

TABLED = tuple(kind for kind in KINDS if kind != "samples")


def loose_table(kind: str) -> str:
    """The name of a kind's table."""
    return f"_loose_{kind}"


def create_tables(connection: duckdb.DuckDBPyConnection, folder: Folder) -> None:
    """Make the tables, empty; the rules must be defined."""
    for kind in TABLED:
        select = kind_of_files(kind, [folder.empty("lines")])
        connection.execute(f"CREATE TABLE {loose_table(kind)} AS {select}")
    connection.execute("CREATE TABLE _loose_segments (segment VARCHAR, digest VARCHAR)")


def bring_up_tables(connection: duckdb.DuckDBPyConnection, files: Mapping[Path, str]) -> None:
    """Let the tables hold the segments of these files and no others.

    Args:
        connection: to a file with the tables and rules.
        files: the digest of each segment's Parquet file.

    Raises:
        CorruptionError: a file that has to be read is not the one that was written.

    """
    held = dict(connection.execute("SELECT segment, digest FROM _loose_segments").fetchall())
    wanted = {path.stem: digest for path, digest in files.items()}
    kept = [segment for segment, digest in held.items() if wanted.get(segment) == digest]
    new = {path: digest for path, digest in files.items() if path.stem not in kept}
    _require_whole(new)
    for kind in TABLED:
        table, segment = loose_table(kind), "attempt" if kind in RULES else "segment"
        if len(kept) < len(held):
            _keep(connection, table, segment, kept)
        if new:
            connection.execute(f"INSERT INTO {table} {kind_of_files(kind, new)}")
    if len(kept) < len(held):
        _keep(connection, "_loose_segments", "segment", kept)
    if new:
        values = ", ".join(f"({quoted(path.stem)}, {quoted(digest)})" for path, digest in new.items())
        connection.execute(f"INSERT INTO _loose_segments VALUES {values}")


def _require_whole(files: Mapping[Path, str]) -> None:
    for path, digest in files.items():
        if digest_file(path) != digest:
            raise CorruptionError(
                f"{path}: changed since it was written from the log; nothing was taken from it, "
                "delete the warehouse folder and it is made again"
            )


def _keep(connection: duckdb.DuckDBPyConnection, table: str, segment: str, kept: Sequence[str]) -> None:
    """Make the table again rather than delete from it, so that the file does not grow by what is gone."""
    connection.execute(
        f"CREATE OR REPLACE TABLE {table} AS FROM {table} "
        f"WHERE list_contains(CAST({sql_list(kept)} AS VARCHAR[]), {segment})"
    )
