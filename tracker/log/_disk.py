"""The few things that the log asks of a file system; every failure is a `StoreUnavailableError`."""

import contextlib
import fcntl
import os
import sys
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path

from schemas import StoreUnavailableError
from tracker.log._crash import crash_point


class Disk:
    """Appending files, and names that survive a power cut. Tests put a failing one in its place."""

    def create(self, path: Path) -> int:
        """A new file for appending, locked against recovery; its descriptor."""
        with _named(path, "create"):
            while True:
                handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_WRONLY, 0o644)
                fcntl.flock(handle, fcntl.LOCK_EX)
                # Recovery may have taken the fresh file for a leftover before it was locked.
                if same_file(handle, path):
                    return handle
                os.close(handle)

    def write(self, handle: int, data: bytes, path: Path) -> None:
        """Append all of the bytes."""
        try:
            written = os.write(handle, data)
            while written < len(data):
                written += os.write(handle, data[written:])
        except OSError as error:
            raise unavailable(path, "write", error) from error

    def write_new(self, path: Path, chunks: Iterable[bytes]) -> int:
        """A new durable file with these bytes, locked; its descriptor, for the caller to close."""
        handle = self.create(path)
        try:
            for chunk in chunks:
                self.write(handle, chunk, path)
            self.sync(handle, path)
        except BaseException:
            os.close(handle)
            raise
        return handle

    def start_sync(self, handle: int, size: int) -> None:
        """Let the system begin to write the last bytes appended, so that a `sync` soon after waits less."""
        if sys.platform == "linux":
            # Dirty pages are not dropped by this, their writing is begun. An error is for `sync` to find.
            with contextlib.suppress(OSError):
                end = os.lseek(handle, 0, os.SEEK_CUR)
                os.posix_fadvise(handle, end - size, size, os.POSIX_FADV_DONTNEED)

    def sync(self, handle: int, path: Path) -> None:
        """Return when the file's bytes are on the disk."""
        crash_point("fsync.before")
        with _named(path, "fsync"):
            os.fsync(handle)
        crash_point("fsync.after")

    def rename(self, old: Path, new: Path) -> None:
        """Rename within a folder, atomically, and make the name durable."""
        crash_point("rename.before")
        with _named(old, "rename"):
            os.rename(old, new)
        crash_point("rename.after")
        self.sync_folder(new.parent)

    def make_folder(self, path: Path) -> None:
        """A folder, with those above it, whose names survive."""
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        with _named(path, "create"):
            path.mkdir(parents=True, exist_ok=True)
        for folder in missing:
            self.sync_folder(folder.parent)

    def sync_folder(self, path: Path) -> None:
        """Return when the folder's names are on the disk."""
        with _named(path, "fsync"):
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def file_chunks(path: Path, length: int | None = None) -> Iterator[bytes]:
    """A file's bytes, or its first `length`, a mebibyte at a time."""
    with _named(path, "read"), path.open("rb") as handle:
        left = os.fstat(handle.fileno()).st_size if length is None else length
        while left > 0 and (chunk := handle.read(min(left, 1 << 20))):
            left -= len(chunk)
            yield chunk


def same_file(handle: int, path: Path) -> bool:
    """Whether the path still names the file that is open."""
    try:
        named = os.stat(path)
    except FileNotFoundError:
        return False
    opened = os.fstat(handle)
    return (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)


@contextlib.contextmanager
def claimed(path: Path) -> Generator[int | None]:
    """The file locked and open for reading, or None when a live writer holds it or it is gone."""
    with _named(path, "open"):
        try:
            handle = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            handle = None
    if handle is None:
        yield None
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = same_file(handle, path)
        except BlockingIOError:
            held = False
        yield handle if held else None
    finally:
        os.close(handle)


@contextlib.contextmanager
def _named(path: Path, action: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise unavailable(path, action, error) from error


def unavailable(path: Path, action: str, error: OSError) -> StoreUnavailableError:
    """What to tell when the file system refuses."""
    return StoreUnavailableError(
        f"{path}: cannot {action}: {error.strerror or error}; make the folder writable or free space, "
        "then run `layoutledger recover` and resume"
    )
