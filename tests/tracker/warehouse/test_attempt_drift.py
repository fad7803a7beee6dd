"""Drift within an attempt: seen where it is, one false alarm in twenty at most, no matter for comparisons."""

import duckdb
import numpy as np
import pytest
from scipy.stats import kendalltau, theilslopes

from harness._measure import rotated
from tracker.warehouse._sources import view_sources

NAMES = ("no_sharing", "depth_one", "full_sharing", "uniform_depth_2")
GAPS = np.log([2.0, 1.5, 1.0, 1.04])


def attempts(count: int, *, drift: float, noise: float = 0.05, rounds: int = 7, seed: int = 1) -> np.ndarray:
    """(attempts, rounds, candidates) milliseconds; a sample feels the drift of its place in the round too."""
    draw = np.random.default_rng(seed)
    places = np.array([[rotated(NAMES, number).index(name) for name in NAMES] for number in range(rounds)])
    when = (np.arange(rounds)[:, None] + places / len(NAMES)) / rounds
    shape = (count, rounds, len(NAMES))
    shared = draw.normal(0, noise, (count, rounds, 1))
    return np.exp(GAPS + drift * when + shared + draw.normal(0, noise, shape))


def view_over(times: np.ndarray) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    count, rounds, candidates = np.indices(times.shape).reshape(3, -1)
    connection.register("given", {"a": count, "round": rounds, "k": candidates, "ms": times.reshape(-1)})
    connection.execute(
        """
        CREATE VIEW samples AS SELECT 'c' AS campaign, 'cell' AS cell, a AS attempt, k AS candidate,
            'measured' AS role, true AS usable, CAST(round AS INTEGER) AS round, ms FROM given;
        CREATE TABLE campaigns (campaign VARCHAR, rounds INTEGER, separation_pct DOUBLE);
        """
    )
    connection.execute(view_sources()["38_attempt_drift.sql"])
    return connection


@pytest.mark.parametrize("rounds", [5, 7, 14])
def test_it_is_mann_kendall_and_theil_sen(rounds: int):
    times = attempts(40, drift=0.15, rounds=rounds)
    found = view_over(times).execute("FROM attempt_drift ORDER BY attempt").fetchall()
    logs = np.log(times)
    levels = np.median(logs - logs.mean(axis=1, keepdims=True), axis=2)
    for row, own in zip(found, levels, strict=True):
        _, _, _, seen, tau, change, p_value, drifting = row
        exact = kendalltau(np.arange(rounds), own)
        assert (seen, tau) == (rounds, pytest.approx(exact.statistic))
        slope = theilslopes(own, np.arange(rounds)).slope
        assert change == pytest.approx(np.expm1(slope * (rounds - 1)) * 100)
        # The exact law of so few rounds is within this of the normal one, corrected for continuity.
        assert p_value == pytest.approx(exact.pvalue, abs=0.025)
        assert drifting == (p_value < 0.05 and abs(change) > 3.0)


def test_a_drift_is_seen_with_its_size():
    found = view_over(attempts(100, drift=0.4)).execute("SELECT drifting, change_pct FROM attempt_drift")
    flags, changes = zip(*found.fetchall(), strict=True)
    assert np.mean(flags) > 0.75
    assert np.median(changes) == pytest.approx(np.expm1(0.4 * 6 / 7) * 100, rel=0.15)


@pytest.mark.parametrize("rounds", [5, 7, 10])
def test_noise_alone_is_flagged_one_time_in_twenty_at_most(rounds: int):
    found = view_over(attempts(1000, drift=0.0, rounds=rounds)).execute(
        "SELECT count(*) FILTER (p_value < 0.05), count(*) FROM attempt_drift"
    )
    flagged, all_of_them = found.fetchall()[0]
    # The exact levels below 5% at 5, 7 and 10 rounds are 1.7%, 3.0% and 4.7%; three standard errors above.
    assert all_of_them == 1000
    assert flagged <= 1000 * {5: 0.017, 7: 0.03, 10: 0.047}[rounds] + 3 * np.sqrt(1000 * 0.05 * 0.95)
    assert flagged > 0


def test_rounds_in_rotating_order_keep_a_drift_out_of_the_comparison():
    times = attempts(200, drift=0.4, noise=0.01, rounds=8)
    medians = np.median(times, axis=1)
    interleaved = np.log(medians[:, 3] / medians[:, 2]) - (GAPS[3] - GAPS[2])
    assert abs(interleaved.mean()) < 0.02
    # One candidate after another, over the same time and drift: the later one looks slower.
    blocks = np.exp(GAPS + 0.4 * (np.arange(4) + np.linspace(0, 1, 8)[:, None]) / 4)
    one_by_one = np.log(np.median(blocks[:, 3]) / np.median(blocks[:, 2])) - (GAPS[3] - GAPS[2])
    assert one_by_one > 0.08


def test_one_round_tells_no_drift_and_unusable_samples_are_left_out(recorder, warehouse):
    recorder.attempt("demo", recorder.cells[0], dict.fromkeys(recorder.labels, (10.0,)))
    assert list(warehouse.query("FROM attempt_drift").rows()) == []
    rising = dict.fromkeys(recorder.labels, tuple(10.0 * 1.05**number for number in range(7)))
    recorder.attempt("demo", recorder.cells[1], rising)
    (row,) = warehouse.query("SELECT cell, rounds, tau, change_pct, drifting FROM attempt_drift").rows()
    assert row[:3] == (recorder.cells[1].key, 7, 1.0)
    assert row[3] == pytest.approx((1.05**6 - 1) * 100)
    assert row[4] is True
