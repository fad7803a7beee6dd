import dataclasses
import random

import numpy as np
import pytest

from fit import fit_table, judge
from fit._cells import compile_cells
from fit._compare import leave_out
from fit._margin import RIDGE, margins
from planner import TERMS, WORK_PER_US
from schemas import FitArguments

TRUTH = {"token_per_rank": 2000, "tiny_segment_per_layer": 900_000, "gdn_level": 20_000_000}


def naive_margins(cells, terms):
    """The weighted rows in plain words, one pair after another, with numpy only for the solution."""
    pairs = []
    for cell in cells:
        n = len(cell.candidates)
        for i in range(n):
            for j in range(i + 1, n):
                a, b = cell.candidates[i], cell.candidates[j]
                mean = (a.median_ms + b.median_ms) / 2
                row = [
                    (TERMS[t](a.features, cell.facts) - TERMS[t](b.features, cell.facts)) / WORK_PER_US
                    for t in terms
                ]
                pairs.append(
                    (
                        [x / (1000 * mean) for x in row],
                        (a.median_ms - b.median_ms) / mean,
                        (a.spread_pct, b.spread_pct),
                        2 / (n * (n - 1)),
                    )
                )
    d2 = 2.7043567512  # seven samples
    error = 0.1
    for last in (False, False, False, True):
        weights = []
        for _, difference, spreads, share in pairs:
            noise = sum((1.2533 * s / d2 / 7**0.5 / 100) ** 2 for s in spreads)
            weights.append(share / (difference**2 + min(noise, 1.0) + 0.03**2 + error**2))
        rows = np.array([row for row, *_ in pairs])
        differences = np.array([d for _, d, *_ in pairs])
        root = np.sqrt(weights)
        size = np.sqrt(((rows * root[:, None]) ** 2).sum(axis=0))
        if last:
            return rows * root[:, None] / size, differences * root, 1 / size
        found = np.linalg.solve(
            (rows * root[:, None] / size).T @ (rows * root[:, None] / size) + RIDGE * np.eye(len(terms)),
            (rows * root[:, None] / size).T @ (differences * root),
        )
        assert (found >= 0).all(), "the plain solution holds only without active bounds"
        shares = np.array([share for *_, share in pairs])
        residuals = differences - rows @ (found / size)
        error = np.sqrt((shares * residuals**2).sum() / shares.sum())


def test_rows_are_the_plain_ones(make_cells):
    cells = make_cells(14, TRUTH, noise=0.01)
    problem = margins(compile_cells(cells, tuple(TRUTH)))
    rows, target, scale = naive_margins(cells, tuple(TRUTH))
    assert problem.rows == pytest.approx(rows, rel=1e-6)
    assert problem.target == pytest.approx(target, rel=1e-6)
    assert problem.scale == pytest.approx(scale, rel=1e-6)


def test_the_triangle_has_the_same_solution_as_all_rows(make_cells):
    problem = margins(compile_cells(make_cells(14, TRUTH, noise=0.01), tuple(TRUTH)))
    gram = problem.rows.T @ problem.rows + RIDGE * np.eye(3)
    expected = np.linalg.solve(gram, problem.rows.T @ problem.target) * problem.scale
    assert (expected > 0).all()
    assert problem.solve([0, 1, 2]) == pytest.approx(expected, rel=1e-9)


def test_columns_left_out_are_zero(make_cells):
    problem = margins(compile_cells(make_cells(14, TRUTH), tuple(TRUTH)))
    assert problem.solve([0, 2])[1] == 0
    assert problem.solve([]).tolist() == [0, 0, 0]


def test_a_column_without_difference_gets_no_coefficient(make_cells):
    cells = [c for c in make_cells(20, TRUTH) if c.shape == "tp1|cp1"]
    problem = margins(compile_cells(cells, ("token_per_rank", "level_tp_per_layer")))
    assert problem.scale[1] == 0
    assert problem.solve([0, 1])[1] == 0


def test_noisy_pairs_count_less(make_cells):
    (cell,) = make_cells(1, TRUTH, candidates=3)
    noisy = [dataclasses.replace(c, spread_pct=400.0 * (c.label == "candidate_2")) for c in cell.candidates]
    quiet = margins(compile_cells([cell], tuple(TRUTH)))
    found = margins(compile_cells([dataclasses.replace(cell, candidates=tuple(noisy))], tuple(TRUTH)))
    weight = np.abs(found.target / quiet.target)
    assert weight[0] > 2 * weight[1:].max()


def test_one_sample_a_candidate_still_fits(make_cells):
    cells = [
        dataclasses.replace(c, candidates=tuple(dataclasses.replace(x, n=1) for x in c.candidates))
        for c in make_cells(10, TRUTH)
    ]
    fitted = fit_table(cells, FitArguments(method="rank-margin", terms=tuple(TRUTH)))
    assert judge(make_cells(10, TRUTH, seed=5), fitted.coefficients).max_regret_pct == 0.0


@pytest.fixture(scope="module")
def every_term(h200):
    return tuple(h200["fit_arguments"]["terms"])


def test_cells_left_out_of_the_h200_evidence(h200_cells, every_term):
    found = leave_out(compile_cells(h200_cells, every_term), "rank-margin", "cell")
    assert found.metrics.max_regret_pct <= 4.3
    assert found.metrics.p95_regret_pct <= 4.0
    assert found.summed_regret_pct <= 25
    assert found.metrics.pairwise_accuracy >= 0.975


def test_order_of_cells_and_terms_changes_no_integer(h200_cells, every_term):
    cells, terms = list(h200_cells), list(every_term)
    expected = fit_table(cells, FitArguments(method="rank-margin", terms=every_term)).coefficients
    random.Random(0).shuffle(cells)
    random.Random(1).shuffle(terms)
    assert fit_table(cells, FitArguments(method="rank-margin", terms=tuple(terms))).coefficients == expected


def test_a_device_twice_as_slow_has_twice_the_table(h200_cells, every_term):
    slow = [
        dataclasses.replace(
            c,
            candidates=tuple(dataclasses.replace(x, median_ms=2 * x.median_ms) for x in c.candidates),
        )
        for c in h200_cells
    ]
    arguments = FitArguments(method="rank-margin", terms=every_term)
    once, twice = (fit_table(c, arguments).coefficients for c in (h200_cells, slow))
    assert set(once) == set(twice)
    assert all(abs(twice[name] - 2 * once[name]) <= 2 for name in once)
