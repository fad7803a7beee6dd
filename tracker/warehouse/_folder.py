"""Where the warehouse's files lie, and how they come to be: whole and durable, or not at all."""

import contextlib
import fcntl
import os
from collections.abc import Generator
from pathlib import Path

from schemas import StoreUnavailableError, digest_bytes, digest_file
from tracker.log import Disk, crash_point
from tracker.warehouse._arrow import Table, arrow, parquet
from tracker.warehouse._columns import LAYOUT

FOLDER = "warehouse"
VIEWS_FILE = "warehouse.duckdb"
TEMPORARY = ".tmp"
PARQUET = ".parquet"


def part_name(name: str, kind: str) -> str:
    """The file name of one kind of a part."""
    return f"{name}.{kind}{PARQUET}"


class Folder:
    """The paths of a ledger's warehouse.

    Args:
        store: the ledger's folder.

    """

    def __init__(self, store: Path) -> None:
        self.store = store
        self.root = store / FOLDER
        self.views = self.root / VIEWS_FILE
        self.views_seal = self.root / "views.json"
        self.disk = Disk()

    def segments(self, campaign: str) -> Path:
        """The folder of a campaign's segment files and its catalogue."""
        return self.root / "segments" / campaign

    def parts(self, campaign: str) -> Path:
        """The folder of a campaign's compacted files."""
        return self.root / "parts" / campaign

    def segment(self, campaign: str, segment: str) -> Path:
        """The Parquet file of a sealed segment."""
        return self.segments(campaign) / f"{segment}{PARQUET}"

    def part(self, campaign: str, name: str, kind: str) -> Path:
        """The Parquet file of one kind of a part."""
        return self.parts(campaign) / part_name(name, kind)

    def empty(self, kind: str) -> Path:
        """A file with the columns and no row, so that a list of files is never empty."""
        return self.root / f"empty-{kind}-{LAYOUT}{PARQUET}"

    def latest_refresh(self) -> tuple[int, int] | None:
        """What changes with every refresh that wrote; None before the first."""
        try:
            found = self.views_seal.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns

    def relative(self, path: Path) -> str:
        """The path as views name it: from the ledger's folder, so that it may be moved."""
        return path.relative_to(self.store).as_posix()

    def write(self, path: Path, data: bytes) -> None:
        """The file appears with these bytes, durable, or not at all.

        Raises:
            StoreUnavailableError: the disk refused.

        """
        temporary = self.temporary(path)
        os.close(self.disk.write_new(temporary, [data]))
        self.disk.rename(temporary, path)

    def temporary(self, path: Path) -> Path:
        """A free name beside the file; what a killed process left there is removed."""
        self.disk.make_folder(path.parent)
        temporary = path.with_name(f"{path.name}{TEMPORARY}")
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        return temporary

    def settle(self, temporary: Path) -> str:
        """Make a file durable that someone else wrote; returns its digest."""
        handle = os.open(temporary, os.O_RDONLY)
        try:
            self.disk.sync(handle, temporary)
        finally:
            os.close(handle)
        return digest_file(temporary)

    def write_parquet(self, path: Path, table: Table) -> str:
        """Write a table; the same table gives the same bytes. Returns the file's digest."""
        sink = arrow.BufferOutputStream()
        parquet.write_table(table, sink, compression="zstd")
        data: bytes = sink.getvalue().to_pybytes()
        crash_point("parquet.before")
        self.write(path, data)
        crash_point("parquet.after")
        return digest_bytes(data)

    @contextlib.contextmanager
    def locked(self) -> Generator[None]:
        """One refresh at a time in a ledger's folder; readers need no lock, and the dead hold none."""
        self.disk.make_folder(self.root)
        path = self.root / ".lock"
        try:
            handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
        except OSError as error:
            raise StoreUnavailableError(
                f"{path}: cannot open: {error.strerror}; make the folder writable, the warehouse lives there"
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)
