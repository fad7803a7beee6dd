import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fit._cells import compile_cells
from fit._pairs import within_cells
from fit._squares import least_squares, solve

numbers = st.floats(-100, 100, width=32)


@given(arrays(np.float64, (9, 4), elements=numbers), arrays(np.float64, 9, elements=numbers))
def test_solution_meets_the_optimality_conditions(rows, target):
    found = solve(rows, target)
    pull = rows.T @ (target - rows @ found)
    size = 1e-8 * (1 + np.abs(rows).max() * np.abs(target).max() * len(rows))
    assert (found >= 0).all()
    assert (pull <= size).all()
    assert np.abs(pull * np.minimum(found, 1)).max() <= size


def test_noiseless_truth_is_found_exactly(make_cells):
    truth = {"token_per_rank": 2000, "tiny_segment_per_layer": 40_000, "gdn_level": 700_000}
    evidence = compile_cells(make_cells(12, truth), tuple(truth))
    found = least_squares(evidence, within_cells(evidence))
    assert found * 1000 == pytest.approx(list(truth.values()), rel=1e-6)


def test_columns_of_very_different_size_do_not_disturb():
    rows = np.array([[1e9, 1e-6], [2e9, 3e-6], [1e9, 5e-6]])
    assert solve(rows, rows @ [3e-9, 2e6]) == pytest.approx([3e-9, 2e6], rel=1e-6)


def test_without_rows_every_coefficient_is_zero():
    assert solve(np.zeros((0, 3)), np.zeros(0)).tolist() == [0, 0, 0]
