"""Opening the views for reading, and nothing else: no other file, no network, no setting to change."""

import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager

import duckdb

from tracker.warehouse._folder import Folder
from tracker.warehouse._sources import quoted, sql_list

MEMORY_LIMIT = "4GB"
"""Beyond it DuckDB spills to a temporary folder."""


@contextmanager
def open_views(
    folder: Folder, *, segments: Iterable[str] | None = None, allow_files: bool = False
) -> Generator[duckdb.DuckDBPyConnection]:
    """A read-only connection to the views file.

    Args:
        folder: the warehouse, refreshed.
        segments: the only segments that the views shall show; all where None.
        allow_files: whether statements may read and write other files.

    """
    with (
        tempfile.TemporaryDirectory(prefix="layoutledger-") as spill,
        duckdb.connect(str(folder.views), read_only=True) as connection,
    ):
        connection.execute(f"SET VARIABLE ledger = {quoted(str(folder.store.absolute()))}")
        if segments is not None:
            connection.execute(f"SET VARIABLE segments = CAST({sql_list(segments)} AS VARCHAR[])")
        connection.execute(
            f"SET memory_limit = '{MEMORY_LIMIT}'; SET temp_directory = {quoted(spill)};"
            "SET parquet_metadata_cache = true; SET enable_progress_bar = false;"
            "SET autoinstall_known_extensions = false; SET autoload_known_extensions = false"
        )
        if not allow_files:
            connection.execute(f"SET allowed_directories = {sql_list([str(folder.root.absolute())])}")
            connection.execute("SET enable_external_access = false; SET lock_configuration = true")
        yield connection
