"""How well a table is known: the refits are those that were promised, and no held-out cell is fitted on."""

import pytest

from fit import GROUPS, analyse, fit_table, judge, judge_cells
from fit._analysis import FOLDS
from fit._methods import fit_evidence
from schemas import FitArguments, IncompleteEvidenceError

TRUTH = {"token_per_rank": 2000, "tiny_segment_per_layer": 4_000_000, "gdn_level": 40_000_000}
ARGUMENTS = FitArguments(method="nnls", terms=tuple(TRUTH))


@pytest.fixture
def cells(make_cells):
    return make_cells(12, TRUTH, noise=0.5, candidates=4)


@pytest.fixture
def held_out(cells):
    return [cell.key for cell in cells[::4]]


def refit(cells, terms=ARGUMENTS.terms):
    return fit_table(cells, FitArguments(method="nnls", terms=tuple(terms))).coefficients


def found_of(analysis, kind, name=""):
    return next(each for each in analysis.unseen if (each.kind, each.name) == (kind, name))


def test_each_training_cell_is_judged_without_its_fold_and_each_held_out_cell_by_the_table(cells, held_out):
    analysis = analyse(cells, ARGUMENTS, TRUTH, held_out=held_out, resamples=2)
    training = [cell for cell in cells if cell.key not in held_out]
    expected = {}
    for fold in range(FOLDS):
        table = refit([cell for place, cell in enumerate(training) if place % FOLDS != fold])
        expected |= {v.key: v for v in judge_cells(training[fold::FOLDS], table)}
    held = [cell for cell in cells if cell.key in held_out]
    expected |= {v.key: v for v in judge_cells(held, refit(training))}
    assert {v.key: v for v in found_of(analysis, "nothing").verdicts} == expected
    assert analysis.folds == FOLDS


def test_as_few_training_cells_as_folds_are_left_out_one_by_one(cells):
    few = cells[:4]
    analysis = analyse(few, ARGUMENTS, (), held_out=(few[0].key,), resamples=1)
    found = {v.key: v for v in found_of(analysis, "nothing").verdicts}
    assert found[few[1].key] == judge_cells(few[1:2], refit(few[2:]))[0]
    assert analysis.folds == 3


def test_a_withheld_term_is_one_that_the_table_uses(cells, held_out):
    analysis = analyse(cells, ARGUMENTS, ("gdn_level",), held_out=held_out, resamples=1)
    assert [each.name for each in analysis.unseen if each.kind == "term"] == ["gdn_level"]
    without = found_of(analysis, "term", "gdn_level")
    whole = found_of(analysis, "nothing")
    assert [v.key for v in without.verdicts] == [v.key for v in whole.verdicts]
    assert without.summed_regret_pct > whole.summed_regret_pct, "levels are most of the cost here"


def test_a_withheld_group_is_judged_by_a_table_that_saw_none_of_it(cells, held_out):
    analysis = analyse(cells, ARGUMENTS, (), held_out=held_out, resamples=1)
    for family in {cell.family for cell in cells}:
        inside = [cell for cell in cells if cell.family == family]
        rest = [cell for cell in cells if cell.family != family and cell.key not in held_out]
        assert found_of(analysis, "family", family).metrics == judge(inside, refit(rest))


def test_no_table_is_fitted_on_a_held_out_cell_nor_on_a_cell_that_it_judges(cells, held_out, monkeypatch):
    fitted = []

    def watched(evidence, method):
        fitted.append({cell.key for cell in evidence.cells})
        return fit_evidence(evidence, method)

    monkeypatch.setattr("fit._apart.fit_evidence", watched)
    monkeypatch.setattr("fit._compare.fit_evidence", watched)
    analysis = analyse(cells, ARGUMENTS, TRUTH, held_out=held_out, resamples=7)
    assert len(fitted) == (FOLDS + 1) * 4 + sum(each.kind in GROUPS for each in analysis.unseen) + 1 + 7
    assert not [keys for keys in fitted if keys & set(held_out)]
    training = {cell.key for cell in cells} - set(held_out)
    for fold, keys in enumerate(fitted[:FOLDS]):
        assert training - keys == {cell.key for cell in [c for c in cells if c.key in training][fold::FOLDS]}
    assert fitted[FOLDS] == training


def test_cells_that_no_table_can_be_fitted_for_stay_unjudged(cells):
    analysis = analyse(cells[:2], ARGUMENTS, TRUTH, held_out=(cells[1].key,), resamples=3)
    assert [v.key for v in found_of(analysis, "nothing").verdicts] == [cells[1].key]
    assert set(analysis.intervals) == set(TRUTH)
    with pytest.raises(IncompleteEvidenceError):
        analyse(cells[:2], ARGUMENTS, TRUTH, held_out=[cell.key for cell in cells[:2]])
