"""What the log's tests share: a log in a fresh folder, small segments, folders as bytes, children to kill."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from schemas import Unit
from tracker.log import CRASH_VARIABLE, Log, SealedSegment

CHILD = Path(__file__).parent / "child.py"
REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "ledger")


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


@pytest.fixture
def run_child() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `child.py VERB ROOT` in a process of its own, to be killed at a named point if one is given."""

    def run(verb: str, root: Path, crash_at: str = "") -> subprocess.CompletedProcess[str]:
        environment: Mapping[str, str] = {
            **os.environ,
            CRASH_VARIABLE: crash_at,
            "PYTHONPATH": str(REPOSITORY),
        }
        return subprocess.run(
            [sys.executable, str(CHILD), verb, str(root)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
