"""The ledger's folder: there, writable, of a format that is known, nothing left behind."""

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from tracker.doctor._finding import Finding
from tracker.log import Log, SegmentPath, claimed, is_leftover, is_segment_file

PART = "store"
KNOWN_ENVELOPE = 1
"""The version of `segment.opened`, which says how a segment is to be read."""
TAIL_BYTES = 4096

REMEDIES = {
    errno.ENOSPC: "free space, or move the ledger to a larger disk",
    errno.EDQUOT: "the quota is used up: free space, or ask for more",
    errno.EROFS: "the file system is read-only: mount it writable, or name another folder with --store",
    errno.EACCES: "make the folder writable for this user, or name another with --store",
    errno.EPERM: "make the folder writable for this user, or name another with --store",
    errno.EIO: "the disk reports errors: copy the ledger elsewhere, then `layoutledger verify` there",
}


def store_checks(store: Path) -> tuple[Callable[[], Iterator[Finding]], ...]:
    """What is looked at in the ledger's folder."""
    log = Log(store)
    return (
        lambda: _folder(store),
        lambda: _writable(store),
        lambda: _format(log),
        lambda: _unsealed(log),
        lambda: _leftovers(log),
        lambda: _database(store),
    )


def nearest_folder(store: Path) -> Path:
    """The folder itself, or the nearest above it that exists."""
    here = store.absolute()
    return next(path for path in (here, *here.parents) if path.is_dir())


def _folder(store: Path) -> Iterator[Finding]:
    if store.is_file():
        yield Finding(PART, "broken", f"{store}: a file, no folder", "name another folder with --store")
    elif not (store / "log").is_dir():
        remedy = "`layoutledger quickstart` makes one, or name the right folder with --store"
        yield Finding(PART, "note", f"{store}: no ledger here yet", remedy)
    else:
        log = Log(store)
        count = len(log.segments())
        yield Finding(PART, "ok", f"{store}: {count} sealed segments in {len(log.campaigns())} campaigns")


def _writable(store: Path) -> Iterator[Finding]:
    folder = nearest_folder(store)
    probe = folder / f".doctor-{os.getpid()}"
    try:
        with probe.open("xb") as handle:
            handle.write(b"x" * 65_536)
            handle.flush()
            os.fsync(handle.fileno())
    except OSError as error:
        remedy = REMEDIES.get(error.errno or 0, "make the folder writable, or name another with --store")
        yield Finding(PART, "broken", f"{folder}: cannot be written: {error.strerror}", remedy)
    else:
        yield Finding(PART, "ok", f"{folder}: writable")
    finally:
        with suppress(OSError):
            probe.unlink(missing_ok=True)


def _format(log: Log) -> Iterator[Finding]:
    newer = [f"{place.path}: {what}" for place in log.segments() for what in _unknown(place)]
    for found in newer:
        yield Finding(PART, "broken", found, "install a newer layoutledger, or verify the file's origin")
    foreign = [
        path
        for name in log.campaigns()
        for path in sorted((log.folder / name).iterdir())
        if not is_segment_file(path) and not is_leftover(path)
    ]
    for path in foreign:
        yield Finding(
            PART, "warning", f"{path}: no segment's name", "move it out of the log: nothing reads it"
        )
    if log.segments() and not newer:
        yield Finding(PART, "ok", f"{log.folder}: every segment is of a format that this program reads")


def _unknown(place: SegmentPath) -> Iterator[str]:
    """What the first and last line of a sealed segment say that this program does not know."""
    with place.path.open("rb") as handle:
        first = handle.readline()
        handle.seek(max(0, place.path.stat().st_size - TAIL_BYTES))
        last = handle.read().removesuffix(b"\n").rpartition(b"\n")[2]
    for name, line, expected in (("first", first, "segment.opened"), ("last", last, "segment.sealed")):
        try:
            event: Any = json.loads(line)
            kind, version = event["type"], event["version"]
        except (ValueError, KeyError, TypeError):
            yield f"its {name} line is no event"
            continue
        if kind != expected:
            yield f"its {name} line is {kind}, expected {expected}"
        elif version != KNOWN_ENVELOPE:
            yield f"{kind} of version {version}, this program knows {KNOWN_ENVELOPE}"


def _unsealed(log: Log) -> Iterator[Finding]:
    dead: list[Path] = []
    for place in log.open_segments():
        with claimed(place.path) as handle:
            if handle is None:
                yield Finding(PART, "note", f"{place.path}: a live process is writing it")
            else:
                dead.append(place.path)
    for path in dead:
        yield Finding(PART, "warning", f"{path}: its writer is gone", "`layoutledger recover` closes it")
    if log.folder.is_dir() and not dead:
        yield Finding(PART, "ok", "no segment is left open by a dead writer")


def _leftovers(log: Log) -> Iterator[Finding]:
    folders = [log.folder, *(log.folder / name for name in log.campaigns())]
    for folder in (each for each in folders if each.is_dir()):
        for path in sorted(folder.iterdir()):
            if is_leftover(path):
                with claimed(path) as handle:
                    if handle is not None:
                        remedy = "`layoutledger recover` removes it: no one was told of it"
                        yield Finding(PART, "warning", f"{path}: left by a process that died", remedy)


def _database(store: Path) -> Iterator[Finding]:
    from tracker.mlflow_store import database_path, missing_triggers

    database = database_path(store)
    if not database.exists():
        return
    missing = missing_triggers(database)
    if missing:
        found = f"{database}: refuses changes to sealed runs no more ({len(missing)} triggers are gone)"
        remedy = "`layoutledger push` puts them back; `layoutledger verify` says what was changed meanwhile"
        yield Finding(PART, "warning", found, remedy)
    else:
        yield Finding(PART, "ok", f"{database}: readable, refuses changes to sealed runs")
