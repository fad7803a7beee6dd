"""Processors, disk, permissions and clock of this machine."""

import fcntl
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from ulid import ULID

from tracker.doctor._finding import Finding
from tracker.doctor._store import nearest_folder
from tracker.log import Log

LEAST_FREE = 64 * 2**20
LITTLE_FREE = 2**30
FSYNCS = 20
SLOW_FSYNC_MS = 20.0
CLOCK_S = 0.2
STEP_S = 0.05
AHEAD_S = 5.0
RELEASED = datetime(2025, 1, 1, tzinfo=UTC)
GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
MIB = 2**20


def machine_checks(store: Path) -> tuple[Callable[[], Iterator[Finding]], ...]:
    """What is looked at of the machine."""
    folder = nearest_folder(store)
    return (
        check_processors,
        lambda: check_space(folder, shutil.disk_usage(folder).free),
        lambda: check_fsync(folder),
        lambda: check_locks(folder),
        lambda: check_permissions(store),
        lambda: check_steady(time.time, time.monotonic),
        lambda: check_ahead(Log(store), time.time()),
    )


def check_processors() -> Iterator[Finding]:
    """How many there are, how many this process may use, and whether others use them now."""
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    load = os.getloadavg()[0]
    found = f"{usable} of {cores} processors, load {load:.1f}"
    if load > usable:
        remedy = "measure when it is quiet: disturbed samples are kept and do not count"
        yield Finding("devices", "warning", found, remedy)
    else:
        yield Finding("devices", "ok", found)
    if GOVERNOR.is_file() and GOVERNOR.read_bytes().strip() == b"powersave":
        remedy = "set the governor to performance for steadier times (cpupower frequency-set -g performance)"
        yield Finding("devices", "note", "the processors' frequency governor is powersave", remedy)


def check_space(folder: Path, free: int) -> Iterator[Finding]:
    """Free bytes on the ledger's disk."""
    found = f"{folder}: {free // MIB:,} MiB free"
    if free < LEAST_FREE:
        yield Finding("disk", "broken", found, "free space: a full disk ends every attempt that writes")
    elif free < LITTLE_FREE:
        yield Finding("disk", "warning", found, "free space before a long campaign")
    else:
        yield Finding("disk", "ok", found)


def check_fsync(folder: Path, clock: Callable[[], float] = time.perf_counter) -> Iterator[Finding]:
    """How long an append takes until it is on the disk; a median of some."""
    times: list[float] = []
    with tempfile.TemporaryFile(dir=folder) as handle:
        for _ in range(FSYNCS):
            began = clock()
            handle.write(b"x" * 200)
            handle.flush()
            os.fsync(handle.fileno())
            times.append((clock() - began) * 1000)
    median = statistics.median(times)
    found = f"{folder}: append and fsync {median:.2f} ms (median of {FSYNCS})"
    if median > SLOW_FSYNC_MS:
        yield Finding("disk", "warning", found, "put the ledger on a local disk: the log waits for it")
    else:
        yield Finding("disk", "ok", found)


def check_locks(folder: Path) -> Iterator[Finding]:
    """Recovery tells a live writer from a dead one by its lock: the file system must have them."""
    with tempfile.TemporaryFile(dir=folder) as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            found = f"{folder}: files cannot be locked: {error.strerror}"
            remedy = "put the ledger on a file system with locks: recover would take live writers for dead"
            yield Finding("disk", "broken", found, remedy)


def check_permissions(store: Path) -> Iterator[Finding]:
    """Folders that this user cannot write, and what others can."""
    log = Log(store)
    folders = [store, log.folder, *(log.folder / name for name in log.campaigns())]
    folders += [store / name for name in ("mlflow", "warehouse", "certificates")]
    there = [folder for folder in folders if folder.is_dir()]
    closed = [folder for folder in there if not _may_write(folder)]
    for folder in closed:
        remedy = f"chown it to this user (id {os.geteuid()}), or give its group write access"
        yield Finding("permissions", "broken", f"{folder}: this user cannot write there", remedy)
    open_to_all = [folder for folder in there if folder.stat().st_mode & 0o002]
    for folder in open_to_all:
        yield Finding("permissions", "warning", f"{folder}: anyone can write there", f"chmod o-w {folder}")
    if there and not closed and not open_to_all:
        yield Finding(
            "permissions", "ok", f"{len(there)} folders can be written by this user, by no stranger"
        )


def _may_write(folder: Path) -> bool:
    effective = os.access in os.supports_effective_ids
    return os.access(folder, os.R_OK | os.W_OK | os.X_OK, effective_ids=effective)


def check_steady(wall: Callable[[], float], monotonic: Callable[[], float]) -> Iterator[Finding]:
    """Whether the wall clock runs as the monotonic one does, and is set at all."""
    began = wall(), monotonic()
    time.sleep(CLOCK_S)
    step = (wall() - began[0]) - (monotonic() - began[1])
    now = datetime.fromtimestamp(wall(), UTC)
    if now < RELEASED:
        yield Finding(
            "clock", "broken", f"it is {now:%Y-%m-%d} here", "set the clock, and let it follow a time server"
        )
    elif abs(step) > STEP_S:
        found = f"the wall clock moved {step * 1000:+.0f} ms against the monotonic one in {CLOCK_S:g} s"
        yield Finding("clock", "warning", found, "let it follow a time server that slews (chrony)")
    else:
        yield Finding("clock", "ok", "wall and monotonic clock agree")


def check_ahead(log: Log, now: float) -> Iterator[Finding]:
    """Whether the newest segment was begun in the future: this clock is behind, or another's was ahead."""
    newest = max((place.segment for place in log.segments()), default=None)
    if newest is None:
        return
    ahead = ULID.from_str(newest).timestamp - now
    if ahead > AHEAD_S:
        found = f"the newest segment, {newest}, was begun {ahead:,.0f} s from now"
        remedy = "set this clock, or that of the machine that wrote it: order in the log is by time"
        yield Finding("clock", "warning", found, remedy)
