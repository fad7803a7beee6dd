import dataclasses

import pytest

from fit import METHODS, FitCandidate, FitCell, fit_table, judge, judge_cells
from planner import LayoutFeatures, ScoringFacts
from schemas import FitArguments, IncompleteEvidenceError, InvalidInputError, table_digest

TRUTH = {"token_per_rank": 2000, "tiny_segment_per_layer": 40_000, "gdn_level": 700_000}


@pytest.mark.parametrize("method", METHODS)
def test_noiseless_truth_is_selected_by_every_method(make_cells, method):
    cells = make_cells(15, TRUTH)
    fitted = fit_table(cells, FitArguments(method=method, terms=tuple(TRUTH)))
    assert fitted.digest == table_digest(fitted.coefficients)
    found = judge(make_cells(15, TRUTH, seed=1), fitted.coefficients)
    assert found.max_regret_pct == pytest.approx(0.0, abs=1e-3)
    assert found.pairwise_accuracy == 1.0


@pytest.mark.parametrize("method", METHODS)
def test_the_same_cells_give_the_same_integers(make_cells, method):
    arguments = FitArguments(method=method, terms=tuple(TRUTH))
    tables = [fit_table(make_cells(10, TRUTH, noise=0.1), arguments) for _ in range(2)]
    assert tables[0] == tables[1]
    assert all(type(value) is int and value >= 0 for value in tables[0].coefficients.values())


def contradicting_cell(number, lean):
    """A level that costs in every second cell and saves in every other, and leans to cost a little."""
    times = (100.0, 100.0 + 4 * (number % 2 * 2 - 1 + lean), 60.0)
    layouts = ((100_000, 1), (100_000, 2), (60_000, 1))
    candidates = tuple(
        FitCandidate(f"c{place}", LayoutFeatures(tokens, 9, depth, (0,) * 8), ms, 7, 0.1, 0)
        for place, ((tokens, depth), ms) in enumerate(zip(layouts, times, strict=True))
    )
    facts = ScoringFacts(layers=1, gdn_layers=1, uses_gdn=True)
    return FitCell(f"cell-{number}", "m", "f", "tp1|cp1", facts, candidates)


@pytest.mark.parametrize(("lean", "stays"), [(0.3, False), (2.0, True)])
def test_margins_leave_out_a_term_that_does_not_help_unseen_cells(lean, stays):
    cells = [contradicting_cell(number, lean) for number in range(16)]
    arguments = FitArguments(method="rank-margin", terms=("token_per_rank", "gdn_level"))
    assert ("gdn_level" in fit_table(cells, arguments).coefficients) is stays


def test_margins_keep_their_selections_where_integers_are_coarse(h200, h200_cells):
    """A device a thousand times faster prices a token at two integers; nearest ones would move a cell."""
    fast = [
        dataclasses.replace(
            c,
            candidates=tuple(dataclasses.replace(x, median_ms=x.median_ms / 1000) for x in c.candidates),
        )
        for c in h200_cells
    ]
    arguments = FitArguments(method="rank-margin", terms=tuple(h200["fit_arguments"]["terms"]))
    coarse, fine = (fit_table(cells, arguments).coefficients for cells in (fast, h200_cells))
    assert coarse["token_per_rank"] == 2
    assert [v.selected for v in judge_cells(fast, coarse)] == [v.selected for v in judge_cells(fast, fine)]


def test_refusals(make_cells):
    cells = make_cells(3, TRUTH)
    with pytest.raises(InvalidInputError, match="no fitting method 'magic'"):
        fit_table(cells, FitArguments(method="magic", terms=("gdn_level",)))
    with pytest.raises(InvalidInputError, match="no such term"):
        fit_table(cells, FitArguments(terms=("moon_phase",)))
    with pytest.raises(InvalidInputError, match="once"):
        fit_table(cells, FitArguments(terms=("gdn_level", "gdn_level")))
    with pytest.raises(IncompleteEvidenceError, match="two candidates"):
        fit_table(make_cells(3, TRUTH, candidates=1), FitArguments(terms=("gdn_level",)))
    with pytest.raises(IncompleteEvidenceError, match="no training cell"):
        fit_table([], FitArguments(terms=("gdn_level",)))
