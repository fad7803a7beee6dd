"""Stochastic curtailment against plain arithmetic, Student's t, and seeded simulations of whole attempts."""

from math import expm1, log, log1p, sqrt

import numpy as np
import pytest
from scipy.stats import t as student

from harness._curtail import standing, upper_t

LEAST, BUDGET, TIE = 5, 20, 3.0
# Gaps to the fastest candidate, percent: as cells of recorded campaigns have them, and pure ties.
CELLS = (
    (0, 3.2, 56, 115),
    (0, 13, 39, 89),
    (0, 2.4, 3.9, 5.3, 8.6, 10, 12, 13, 16, 19, 24, 40),
    (0, 1, 7.5, 14, 16, 29, 35, 48, 70),
    (0, 8, 13, 57),
    (0, 14, 49, 92),
    (0, 20, 50),
    (0, 0, 0),
    (0, 5, 36, 88),
)


@pytest.mark.parametrize("freedom", [4, 6, 12, 60])
@pytest.mark.parametrize("tail", [0.05, 0.01, 0.002])
def test_the_quantile_is_that_of_students_t(freedom: int, tail: float):
    assert upper_t(tail, freedom) == pytest.approx(student.isf(tail, freedom), rel=0.006)


def rounds_of(times: np.ndarray) -> list[dict[str, float]]:
    return [dict(zip("abcdefghijklmnop", map(float, row), strict=False)) for row in times]


def naive_undecided(times: np.ndarray, left: int) -> list[int]:
    """Complete rounds only: means of logarithms, and the residuals of the two-way table."""
    logs = np.log(times)
    done, k = logs.shape
    residual = logs - logs.mean(0) - logs.mean(1, keepdims=True) + logs.mean()
    freedom = (done - 1) * (k - 1)
    scatter = sqrt((residual**2).sum() / freedom)
    best = int(np.argmin(np.median(times, axis=0)))
    quantile = upper_t(0.05 / (k - 1), freedom)
    lead = logs.mean(0) - logs.mean(0)[best] + log1p(TIE / 100)
    return [i for i in range(k) if i != best and lead[i] * done < quantile * scatter * sqrt(2 * left)]


def test_without_missing_samples_it_is_the_textbook_two_way_table():
    draw = np.random.default_rng(3)
    seen = set()
    for _ in range(60):
        times = np.exp(draw.normal(0, 0.05, (6, 5)) + draw.uniform(0, 0.2, 5) + draw.normal(0, 0.3, (6, 1)))
        found = standing(rounds_of(times), "abcde", left=9, tie_pct=TIE, error_pct=5.0)
        assert found.fastest == "abcde"[int(np.argmin(np.median(times, axis=0)))]
        assert list(found.undecided) == ["abcde"[i] for i in naive_undecided(times, 9)]
        seen.add(len(found.undecided))
    assert len(seen) > 2


def test_what_slows_a_whole_round_changes_nothing():
    draw = np.random.default_rng(4)
    times = np.exp(draw.normal(0, 0.02, (6, 3)) + np.array([0.0, 0.04, 0.2]))
    calm = standing(rounds_of(times), "abc", left=10, tie_pct=TIE, error_pct=5.0)
    # A round alike slow for all moves every median alike, but no difference within the round.
    slowed = times * np.array([1, 1, 2.5, 1, 1, 1.3])[:, None]
    again = standing(rounds_of(slowed), "abc", left=10, tie_pct=TIE, error_pct=5.0)
    assert (calm.fastest, calm.undecided) == (again.fastest, again.undecided)


def test_samples_may_be_missing_and_candidates_that_never_met_stay_undecided():
    rows = rounds_of(np.exp(np.random.default_rng(5).normal(0, 0.001, (6, 3)) + np.arange(3) / 2))
    for row, name in zip(rows, "abcabc", strict=True):
        del row[name]
    assert standing(rows, "abc", left=10, tie_pct=TIE, error_pct=5.0).undecided == ()
    apart = [{"a": 1.0, "b": 2.0}, {"c": 4.0}, {"a": 1.01, "b": 2.0}, {"c": 4.1}, {"a": 1.0, "b": 2.02}]
    assert standing(apart, "abc", left=10, tie_pct=TIE, error_pct=5.0).undecided == ("b", "c")


def test_a_lone_candidate_has_no_rival_and_no_round_left_leaves_nothing_open():
    assert standing([{"a": 1.0}], "a", left=5, tie_pct=TIE, error_pct=5.0).undecided == ()
    noise = rounds_of(np.exp(np.random.default_rng(6).normal(0, 0.3, (5, 4))))
    assert standing(noise, "abcd", left=40, tie_pct=TIE, error_pct=5.0).undecided
    assert standing(noise, "abcd", left=0, tie_pct=TIE, error_pct=5.0).undecided == ()


def simulate(sigma: float, attempts: int, seed: int, **more: float) -> tuple[float, float, float, float]:
    """Share of rounds run, wrong selections of the rule and of all rounds, and how often they are alike.

    A selection, by median as the evidence is read, is wrong if truly slower than the best by over a tie.
    """
    draw = np.random.default_rng(seed)
    used, wrong, wrong_all, alike = [], [], [], []
    for number in range(attempts):
        gaps = draw.permutation(np.log1p(np.array(CELLS[number % len(CELLS)]) / 100))
        shape = (BUDGET, len(gaps))
        uneven = np.exp(draw.normal(0, more.get("uneven", 0.0), len(gaps)))
        noise = (
            draw.standard_t(more["freedom"], shape) / sqrt(3)
            if "freedom" in more
            else draw.normal(size=shape)
        )
        shared = draw.normal(0, sigma, (BUDGET, 1)) + np.linspace(0, more.get("drift", 0.0), BUDGET)[:, None]
        times = np.exp(gaps + sigma * uneven * noise + shared)
        names, rows, done = "abcdefghijklmnop"[: len(gaps)], rounds_of(times), LEAST
        while standing(rows[:done], names, left=BUDGET - done, tie_pct=TIE, error_pct=5.0).undecided:
            done += 1
        picks = [int(np.argmin(np.median(times[:end], axis=0))) for end in (done, BUDGET)]
        behind = [expm1(gaps[pick] - gaps.min()) * 100 for pick in picks]
        used.append(done / BUDGET)
        wrong.append(behind[0] > TIE + 1e-9)
        wrong_all.append(behind[1] > TIE + 1e-9)
        alike.append(abs(gaps[picks[0]] - gaps[picks[1]]) <= log1p(TIE / 100) + 1e-12)
    return float(np.mean(used)), float(np.mean(wrong)), float(np.mean(wrong_all)), float(np.mean(alike))


def check_simulation(attempts: int, sigma: float, most: float, **more: float) -> None:
    share, wrong, wrong_all, alike = simulate(sigma, attempts, 11, **more)
    assert share < most
    # Two standard errors of the difference of two shares near 5%.
    assert wrong <= wrong_all + 2 * sqrt(2 * 0.05 * 0.95 / attempts)
    assert alike >= 0.95


@pytest.mark.parametrize(("sigma", "most"), [(0.03, 0.40), (0.06, 0.52)], ids=["quiet", "noisy"])
def test_about_half_the_rounds_select_as_well_as_all_of_them(sigma, most):
    check_simulation(90, sigma, most)


@pytest.mark.slow(seconds=20)
@pytest.mark.parametrize(
    ("sigma", "most", "more"),
    [
        (0.03, 0.40, {}),
        (0.06, 0.52, {}),
        (0.06, 0.52, {"freedom": 3}),
        (0.06, 0.55, {"uneven": 0.4}),
        (0.06, 0.52, {"drift": 0.3}),
        (0.10, 0.62, {}),
    ],
    ids=["quiet", "noisy", "heavy tails", "uneven noise", "drifting", "as noisy as two shared cores"],
)
def test_nor_do_heavy_tails_uneven_noise_or_drift_mislead_it(sigma, most, more):
    check_simulation(900, sigma, most, **more)


def test_where_rivals_lie_a_ties_width_ahead_a_wrong_early_end_stays_rare():
    """The worst case: two candidates are slower than the best by just over a tie."""
    draw, ended_wrong = np.random.default_rng(12), 0
    for _ in range(120):
        gaps = np.array([0.0, log(1.031), log(1.031)])
        times = np.exp(gaps + draw.normal(0, 0.06, (BUDGET, 3)))
        rows, done = rounds_of(times), LEAST
        while (
            found := standing(rows[:done], "abc", left=BUDGET - done, tie_pct=TIE, error_pct=5.0)
        ).undecided:
            done += 1
        everything = np.median(times, axis=0)
        ended_wrong += done < BUDGET and everything["abc".index(found.fastest)] > 1.03 * everything.min()
    assert ended_wrong / 120 < 0.05 + 0.04
