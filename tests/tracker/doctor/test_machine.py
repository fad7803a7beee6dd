"""Disk, locks and clock."""

import itertools
from pathlib import Path

import pytest
from ulid import ULID

from tracker.doctor._machine import (
    check_ahead,
    check_fsync,
    check_locks,
    check_processors,
    check_space,
    check_steady,
)
from tracker.log import Log


@pytest.mark.parametrize(("free", "state"), [(2**20, "broken"), (2**28, "warning"), (2**40, "ok")])
def test_space_runs_out_by_steps(tmp_path: Path, free, state):
    assert [each.state for each in check_space(tmp_path, free)] == [state]


def test_a_disk_that_is_slow_is_a_warning(tmp_path: Path):
    ticks = itertools.count()
    (slow,) = check_fsync(tmp_path, lambda: next(ticks) * 0.5)
    assert slow.state == "warning" and "500.00 ms" in slow.found and "local disk" in slow.remedy
    quick = itertools.count()
    assert [each.state for each in check_fsync(tmp_path, lambda: next(quick) * 1e-4)] == ["ok"]
    assert list(tmp_path.iterdir()) == []


def test_files_can_be_locked_here(tmp_path: Path):
    assert list(check_locks(tmp_path)) == []


def test_processors_are_counted():
    assert "processors, load" in next(iter(check_processors())).found


@pytest.mark.parametrize(
    ("walls", "state"),
    [((1.8e9, 1.8e9, 1.8e9), "ok"), ((1.8e9, 1.8e9 + 3, 1.8e9), "warning"), ((5.0, 5.0, 5.0), "broken")],
)
def test_a_wall_clock_that_steps_or_is_not_set_is_found(walls, state):
    wall, steady = iter(walls), iter((7.0, 7.0))
    assert [each.state for each in check_steady(lambda: next(wall), lambda: next(steady))] == [state]


def test_a_segment_from_the_future_is_found(tmp_path: Path):
    log = Log(tmp_path)
    assert list(check_ahead(log, 0.0)) == []
    with log.open_segment("c", "fit"):
        pass
    begun = ULID.from_str(log.segments()[0].segment).timestamp
    assert list(check_ahead(log, begun)) == []
    (warning,) = check_ahead(log, begun - 3600)
    assert warning.state == "warning" and "3,600 s from now" in warning.found
