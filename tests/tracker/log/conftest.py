"""What the log's tests share: a log in a fresh folder, small segments, folders as bytes, children to kill."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from schemas import Unit
from tracker.log import CRASH_VARIABLE, Disk, Log, SealedSegment

CHILD = Path(__file__).parent / "child.py"
REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "ledger")


class HastyDisk(Disk):
    """Does not wait for the disk: for tests of thousands of segments that are not about power cuts."""

    def sync(self, handle: int, path: Path) -> None:
        pass

    def sync_folder(self, path: Path) -> None:
        pass


@pytest.fixture
def hasty_disk() -> Disk:
    return HastyDisk()


def write_attempt(
    log: Log, *, cell: str = "cell-a", samples: int = 3, campaign: str = "quick"
) -> SealedSegment:
    writer = log.open_segment(campaign, Unit.ATTEMPT, {"cell": cell})
    writer.append("cell.started", {"cell": cell, "number": 1})
    for number in range(samples):
        writer.append("sample.recorded", {"cell": cell, "round": number, "ms": 1.5}, durable=False)
    writer.append("cell.completed", {"cell": cell})
    return writer.seal()


@pytest.fixture(name="write_attempt")
def write_attempt_fixture() -> Callable[..., SealedSegment]:
    return write_attempt


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(name="contents")
def contents_fixture() -> Callable[[Path], dict[str, bytes]]:
    return contents


def child_environment(crash_at: str = "") -> dict[str, str]:
    return {**os.environ, CRASH_VARIABLE: crash_at, "PYTHONPATH": str(REPOSITORY)}


@pytest.fixture
def start_child() -> Callable[..., subprocess.Popen[str]]:
    """Start `child.py VERB ROOT`, to be killed at a named point if one is given."""

    def start(verb: str, root: Path, crash_at: str = "") -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(CHILD), verb, str(root)],
            env=child_environment(crash_at),
            stdout=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.fixture(scope="session")
def nursery() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, str(CHILD), "nursery"],
        env=child_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def run_child(nursery: subprocess.Popen[str]) -> Callable[..., tuple[int, str]]:
    """Run a verb of `child.py` in a forked process; its exit status (negative: the signal) and output."""

    def run(verb: str, root: Path, crash_at: str = "") -> tuple[int, str]:
        assert nursery.stdin is not None and nursery.stdout is not None
        nursery.stdin.write(json.dumps([verb, str(root), crash_at]) + "\n")
        nursery.stdin.flush()
        status, told = json.loads(nursery.stdout.readline())
        return status, told

    return run
