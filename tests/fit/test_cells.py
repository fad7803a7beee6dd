import dataclasses

import numpy as np
import pytest

from fit._cells import compile_cells, predict
from planner import TERMS
from schemas import InvalidInputError

TRUTH = {"token_per_rank": 2000, "gdn_level": 700_000}


def test_values_are_the_planners_terms_over_their_unit(make_cells):
    cells = make_cells(6, TRUTH)
    evidence = compile_cells(cells, tuple(TERMS))
    rows = iter(evidence.values * evidence.unit)
    for cell in cells:
        for candidate in cell.candidates:
            assert list(next(rows)) == [term(candidate.features, cell.facts) for term in TERMS.values()]


def test_equal_rows_are_predicted_equal():
    units = np.repeat([[0.1, 0.7, 1e9]], 13, axis=0)
    assert len(set(predict(units, np.array([0.3, 1e-7, 3.1])))) == 1


def test_a_cell_that_cannot_be_compared_is_refused(make_cells):
    (cell,) = make_cells(1, TRUTH)
    first = cell.candidates[0]
    for candidates, message in (
        ((), "no candidate"),
        ((first, first), "stands twice"),
        ((dataclasses.replace(first, median_ms=0.0),), "positive finite"),
        ((dataclasses.replace(first, median_ms=float("nan")),), "positive finite"),
        ((dataclasses.replace(first, median_ms=float("inf")),), "positive finite"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            dataclasses.replace(cell, candidates=candidates)
