import numpy as np
import pytest

from fit._cells import compile_cells
from fit._pairs import ordered_pairs, pair_rows, right_order, separation_pct, within_cells
from planner import TERMS, WORK_PER_US

TRUTH = {"token_per_rank": 2000, "gdn_level": 700_000}


def naive_rows(cells, terms):
    for cell in cells:
        n = len(cell.candidates)
        for i in range(n):
            for j in range(i + 1, n):
                a, b = cell.candidates[i], cell.candidates[j]
                weight = (n * (n - 1) / 2) ** -0.5 / (0.5 * (a.median_ms + b.median_ms))
                row = [
                    weight
                    * (TERMS[t](a.features, cell.facts) - TERMS[t](b.features, cell.facts))
                    / WORK_PER_US
                    for t in terms
                ]
                yield row, weight * (a.median_ms - b.median_ms) * 1000


def test_rows_and_targets_are_the_formula(make_cells):
    cells = (*make_cells(4, TRUTH, candidates=5), *make_cells(3, TRUTH, candidates=2, seed=9))
    cells = tuple({cell.key: cell for cell in cells}.values())
    evidence = compile_cells(cells, tuple(TRUTH))
    rows, target = pair_rows(evidence, within_cells(evidence))
    expected = list(naive_rows(cells, tuple(TRUTH)))
    assert rows == pytest.approx(np.array([row for row, _ in expected]), rel=1e-12)
    assert target == pytest.approx(np.array([value for _, value in expected]), rel=1e-12)


def test_a_cell_of_one_candidate_has_no_pair(make_cells):
    evidence = compile_cells(make_cells(3, TRUTH, candidates=1), tuple(TRUTH))
    assert len(within_cells(evidence)) == 0


def test_pairs_within_the_separation_are_left_out(make_cells):
    evidence = compile_cells(make_cells(5, TRUTH), tuple(TRUTH))
    pairs = within_cells(evidence)
    kept = ordered_pairs(evidence, 40.0)
    assert 0 < len(kept) == int((separation_pct(evidence, pairs) > 40.0).sum()) < len(pairs)


def test_right_order_follows_the_medians(make_cells):
    evidence = compile_cells(make_cells(5, TRUTH), tuple(TRUTH))
    pairs = within_cells(evidence)
    assert right_order(evidence, pairs, evidence.ms).all()
    assert not right_order(evidence, pairs, -evidence.ms).any()
