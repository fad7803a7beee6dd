"""Devices that no fit was made for: their true times are known, so regret on unseen cells is exact."""

import importlib.util
import statistics
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "fit_devices.py"


@pytest.fixture(scope="module")
def devices():
    found = importlib.util.spec_from_file_location("fit_devices", BENCHMARK)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_simulated_cells_are_the_same_every_time(devices):
    first, again = (devices.measured_cells(devices.CPU, 3, 4) for _ in range(2))
    assert first == again
    assert first != devices.measured_cells(devices.CPU, 4, 4)


def test_true_times_rank_without_noise(devices):
    cells = devices.true_cells(devices.GPU, 0, 6)
    assert all(candidate.spread_pct == 0 for cell in cells for candidate in cell.candidates)
    assert all(len(cell.candidates) > 1 for cell in cells)


@pytest.mark.slow
def test_margins_select_better_on_unseen_cells_than_the_published_search(devices):
    mean = {
        method: statistics.fmean(
            regret
            for device in devices.DEVICES
            for regret in devices.regrets(device, 0, method, measured=20, judged=40)
        )
        for method in ("rank-margin", "nnls-regret", "nnls")
    }
    assert mean["rank-margin"] < mean["nnls"]
    assert mean["rank-margin"] < mean["nnls-regret"]
    assert mean["rank-margin"] < 1.0
