import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tracker.log import CRASH_VARIABLE
from tracker.warehouse import Refreshed, Warehouse

CHILD = Path(__file__).with_name("child.py")
REPOSITORY = CHILD.parents[3]

# Each pass of each named point that one refresh of this ledger goes by.
POINTS = ("parquet.after:9", "compact.before:3", "catalogue.after", "views.before", "views.after")
MORE_POINTS = (
    "parquet.before:1",
    "parquet.after:1",
    "parquet.before:3",
    "compact.before:1",
    "compact.after:1",
    "compact.after:3",
    "catalogue.before",
    "fsync.before:4",
    "rename.before:5",
    "rename.after:6",
)


def refresh_in_child(store, crash_at=""):
    environment = {**os.environ, CRASH_VARIABLE: crash_at, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(
        [sys.executable, str(CHILD), str(store)], env=environment, capture_output=True, check=False
    )


def answers(store):
    with Warehouse(store).connect() as connection:
        return [
            connection.execute(f"SELECT * FROM {view} ORDER BY ALL").fetchall()
            for view in ("events", "attempts", "candidate_medians", "cells")
        ]


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory, module_recorder):
    """A ledger with a standing warehouse and many new segments, and what it has to answer."""
    recorder = module_recorder
    recorder.open_campaign(recorder.manifest())
    Warehouse(recorder.store).refresh()
    for number in range(1, 17):
        recorder.attempt("demo", recorder.cells[number % 3], recorder.times, number=number)
    whole = tmp_path_factory.mktemp("whole") / "ledger"
    shutil.copytree(recorder.store / "log", whole / "log")
    return recorder.store, answers(whole)


@pytest.mark.parametrize(
    "point", [*POINTS, *(pytest.param(point, marks=pytest.mark.slow) for point in MORE_POINTS)]
)
def test_killed_at_any_point_the_next_refresh_completes(ledgers, tmp_path, point):
    before, expected = ledgers
    store = tmp_path / "ledger"
    shutil.copytree(before, store)
    assert refresh_in_child(store, point).returncode == -signal.SIGKILL
    assert Warehouse(store).verify() == []
    assert answers(store) == expected
    assert Warehouse(store).compare_with_log() == []
    assert Warehouse(store).refresh() == Refreshed()
    assert not list((store / "warehouse").rglob("*.tmp"))


def test_unkilled_it_completes(ledgers, tmp_path):
    before, expected = ledgers
    store = tmp_path / "ledger"
    shutil.copytree(before, store)
    done = refresh_in_child(store)
    assert done.returncode == 0, done.stderr
    assert b"projected=16, dropped=0, parts=2, views=True" in done.stdout
    assert answers(store) == expected
