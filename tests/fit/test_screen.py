import numpy as np
import pytest

from fit._cells import compile_cells, take
from fit._margin import RIDGE, Margins, margins
from fit._pairs import Pairs
from fit._screen import _by_cell, _left_out_errors, screen

TRUTH = {"token_per_rank": 2000, "tiny_segment_per_layer": 900_000, "gdn_level": 20_000_000}


def made_up(rows, target, cell):
    rows, target = np.asarray(rows, dtype=float), np.asarray(target, dtype=float)
    size = np.sqrt((rows**2).sum(axis=0))
    triangle = np.linalg.qr(np.column_stack([rows / size, target]), mode="r")
    places = np.arange(len(target))
    return Margins(rows / size, target, triangle, 1 / size, Pairs(places, places, np.asarray(cell)))


def test_left_out_errors_are_those_of_fits_without_the_cell(make_cells):
    evidence = compile_cells(make_cells(12, TRUTH, noise=0.01), tuple(TRUTH))
    problem = margins(evidence)
    found = _left_out_errors(*_by_cell(problem), [0, 1, 2])
    for cell in range(12):
        inside = problem.pairs.cell == cell
        rows, target = problem.rows[~inside], problem.target[~inside]
        gram = rows.T @ rows + RIDGE * np.eye(3)
        coefficients = np.linalg.solve(gram, rows.T @ target)
        assert (coefficients > 0).all()
        errors = problem.target[inside] - problem.rows[inside] @ coefficients
        assert found[cell] == pytest.approx(errors @ errors, rel=1e-5)


def test_terms_that_help_stay(make_cells):
    problem = margins(compile_cells(make_cells(20, TRUTH, noise=0.01), tuple(TRUTH)))
    assert screen(problem) == [0, 1, 2]


def contradicting_cells(count, lean):
    """Half of the cells say that the second column costs, half that it saves; then all lean to cost."""
    cells = np.repeat(np.arange(count), 2)
    signs = np.repeat(np.where(np.arange(count) % 2, -1.0, 1.0), 2)
    token, level = np.ones(2 * count), np.tile([1.0, -1.0], count)
    return made_up(np.column_stack([token, level]), token + (signs + lean) * level, cells)


def test_a_term_on_which_the_cells_contradict_each_other_goes():
    problem = contradicting_cells(16, lean=0.02)
    assert problem.solve([0, 1])[1] > 0
    assert screen(problem) == [0]


def test_a_term_on_which_the_cells_agree_stays():
    assert screen(contradicting_cells(16, lean=2.0)) == [0, 1]


def test_few_cells_screen_nothing(make_cells):
    evidence = compile_cells(make_cells(12, TRUTH, noise=0.5), tuple(TRUTH))
    assert screen(margins(take(evidence, range(5)))) == [0, 1, 2]


def test_a_term_that_never_differs_is_no_column(make_cells):
    cells = [c for c in make_cells(30, TRUTH) if c.shape == "tp1|cp1"]
    problem = margins(compile_cells(cells, ("level_tp_per_layer", "token_per_rank")))
    assert screen(problem) == [1]
