"""Disks that are full, broken or read-only: a clear message, nothing lost, and on when they are well."""

import os
import subprocess
from pathlib import Path

import pytest

from schemas import InvalidInputError, StoreUnavailableError
from tracker.log import Disk, Log, read_segment, recover, verify_log


class FailingDisk(Disk):
    """Fails the N-th write or fsync as the system would; a failing write leaves half of the line."""

    def __init__(self, *, write: int = 0, sync: int = 0):
        self.left = {"write": write, "sync": sync}

    def _fails(self, action):
        self.left[action] -= 1
        return self.left[action] == 0

    def write(self, handle, data, path):
        if self._fails("write"):
            os.write(handle, data[: len(data) // 2])
            self._refuse(path)
        super().write(handle, data, path)

    def sync(self, handle, path):
        if self._fails("sync"):
            self._refuse(path)
        super().sync(handle, path)

    def _refuse(self, path):
        with open("/dev/full", "wb", buffering=0) as full:
            Disk().write(full.fileno(), b"x", path)


class BrokenDisk(FailingDisk):
    """Fails with EIO, which the system itself gives for a page of memory that cannot be read."""

    def _refuse(self, path):
        with open("/proc/self/mem", "rb+", buffering=0) as memory:
            Disk().write(memory.fileno(), b"x", path)


DISKS = [(FailingDisk, "No space left on device"), (BrokenDisk, "Input/output error")]


@pytest.mark.parametrize("action", ["write", "sync"])
@pytest.mark.parametrize("number", range(1, 9))
@pytest.mark.parametrize(("disk", "reason"), DISKS)
def test_the_nth_write_or_fsync_fails(tmp_path, action, number, disk, reason):
    log = Log(tmp_path, disk=disk(**{action: number}))
    acknowledged = []
    with pytest.raises(StoreUnavailableError, match=f"cannot write: {reason}"):
        writer = log.open_segment("quick", "attempt", {"cell": "a"})
        acknowledged = [writer.append("cell.started", {"n": n}) for n in range(20)]
        raise AssertionError("nothing failed")
    assert acknowledged == []
    well = Log(tmp_path)
    recover(well)
    assert verify_log(well) == []


@pytest.mark.parametrize("disk", [FailingDisk, BrokenDisk])
@pytest.mark.parametrize("action", ["write", "sync"])
def test_after_a_failure_the_writer_refuses_and_what_was_acknowledged_stays(tmp_path, action, disk):
    log = Log(tmp_path, disk=disk(**{action: 5}))
    writer = log.open_segment("quick", "attempt", {"cell": "a"})
    acknowledged = []
    with pytest.raises(StoreUnavailableError):
        while True:
            acknowledged.append(writer.append("cell.started", {"n": len(acknowledged)}))
    assert acknowledged
    before = writer.path.read_bytes()
    for refused in (lambda: writer.append("cell.completed", {}), writer.flush, writer.seal):
        with pytest.raises(StoreUnavailableError, match="an earlier write failed"):
            refused()
    writer.close()
    assert writer.path.read_bytes() == before
    well = Log(tmp_path)
    (done,) = recover(well).sealed
    assert read_segment(done.path)[1 : 1 + len(acknowledged)] == tuple(acknowledged)
    assert verify_log(well) == []
    with well.open_segment("quick", "attempt", {"cell": "a"}) as again:
        again.append("cell.completed", {})
    assert verify_log(well) == []


def test_a_failed_background_sync_stops_the_writer(tmp_path):
    disk = FailingDisk(sync=99)
    writer = Log(tmp_path, disk=disk).open_segment("quick", "attempt")
    disk.left["sync"] = 1
    writer.append("sample.recorded", {}, durable=False)
    writer._timer.join(30)
    with pytest.raises(StoreUnavailableError, match="an earlier write failed"):
        writer.append("cell.completed", {})


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 128 KiB, where the test may mount one."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small tmpfs is not permitted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_loses_nothing_and_the_log_goes_on_when_space_is_back(small_disk: Path):
    log = Log(small_disk / "ledger")
    writer = log.open_segment("quick", "attempt", {"cell": "a"})
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 80_000)
    acknowledged = []
    with pytest.raises(StoreUnavailableError, match=r"No space left on device.*recover"):
        while True:
            acknowledged.append(writer.append("cell.started", {"text": "x" * 500}))
    with pytest.raises(StoreUnavailableError, match="No space left"):
        while True:
            log.open_segment("quick", "attempt", fields={"text": "x" * 5000})
    ballast.unlink()
    recover(log)
    assert verify_log(log) == []
    assert read_segment(log.segments()[0].path)[1 : 1 + len(acknowledged)] == tuple(acknowledged)
    assert len(acknowledged) > 10
    with log.open_segment("quick", "attempt") as again:
        again.append("cell.completed", {})
    assert verify_log(log) == []


def test_recovery_on_a_full_disk_changes_nothing_until_there_is_space(small_disk: Path, contents):
    log = Log(small_disk / "ledger")
    writer = log.open_segment("quick", "attempt", {"cell": "a"})
    for _ in range(40):
        writer.append("cell.started", {"text": "x" * 500})
    writer.close()
    ballast = small_disk / "ballast"
    with pytest.raises(OSError), ballast.open("wb", buffering=0) as handle:
        while True:
            handle.write(b"x" * 4096)
    before = writer.path.read_bytes()
    with pytest.raises(StoreUnavailableError, match="No space left"):
        recover(log)
    assert writer.path.read_bytes() == before
    ballast.unlink()
    recover(log)
    assert verify_log(log) == []
    assert all(name.endswith(".jsonl") for name in contents(log.root))


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "log").write_text("")
    with pytest.raises(StoreUnavailableError, match="cannot create"):
        Log(tmp_path).open_segment("quick", "attempt")


def test_a_read_only_file_system(small_disk: Path):
    log = Log(small_disk / "ledger")
    with log.open_segment("quick", "attempt") as writer:
        writer.append("cell.completed", {})
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(StoreUnavailableError, match="Read-only file system"):
        log.open_segment("quick", "attempt")
    assert verify_log(log) == []
    assert recover(log).sealed == ()


def test_a_name_that_is_no_campaign(log):
    for name in (
        "",
        "..",
        ".",
        "a/b",
        "../a",
        "a\x00",
        "a\n",
        "a ",
        ".a",
        "a..b",
        "a.",
        "é",
        "x" * 101,
        "CON:",
    ):
        with pytest.raises(InvalidInputError, match="campaign name"):
            log.open_segment(name, "attempt")
    assert not log.folder.exists()
