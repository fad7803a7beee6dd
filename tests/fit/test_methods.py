import pytest

from fit import METHODS, fit_table, judge
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
