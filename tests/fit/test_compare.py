import pytest

from fit import METHODS, ablate_terms, compare, fit_table, judge, judge_cells
from fit._cells import compile_cells, take
from fit._compare import LEFT_OUT, leave_out
from fit._methods import fit_evidence
from schemas import FitArguments, IncompleteEvidenceError, InvalidInputError

TRUTH = {"token_per_rank": 2000, "tiny_segment_per_layer": 4_000_000, "gdn_level": 40_000_000}
TERMS_USED = tuple(TRUTH)


@pytest.fixture
def cells(make_cells):
    return make_cells(12, TRUTH, noise=0.5, candidates=4)


def test_taking_cells_is_compiling_them(cells):
    whole = compile_cells(cells, TERMS_USED)
    some = take(whole, [2, 5, 7])
    again = compile_cells([cells[2], cells[5], cells[7]], TERMS_USED)
    assert (some.values * some.unit == again.values * again.unit).all()
    for field in ("starts", "cell_of", "ms", "regret", "error_pct"):
        assert (getattr(some, field) == getattr(again, field)).all(), field
    assert some.cells == again.cells


def test_taking_a_cell_twice_counts_it_twice(cells):
    found = take(compile_cells(cells, TERMS_USED), [1, 1, 4])
    assert found.starts.tolist() == [0, 4, 8]
    assert found.cell_of.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert (found.ms[:4] == found.ms[4:8]).all()


@pytest.mark.parametrize("method", METHODS)
def test_leaving_out_is_fitting_on_the_others(cells, method):
    found = leave_out(compile_cells(cells, TERMS_USED), method, "cell")
    tables: set[tuple[int, ...]] = set()
    for place, cell in enumerate(cells):
        rest = [*cells[:place], *cells[place + 1 :]]
        table = fit_table(rest, FitArguments(method=method, terms=TERMS_USED)).coefficients
        assert found.verdicts[place] == judge_cells([cell], table)[0]
        tables.add(tuple(v.regret_pct for v in judge_cells(cells, table)))
    assert len(tables) > 1, "the cells were to be such that it matters which one is left out"
    assert found.groups == 12
    assert found.summed_regret_pct == pytest.approx(sum(v.regret_pct for v in found.verdicts))


def test_pairs_of_a_left_out_group_are_judged_by_its_own_table(cells):
    found = leave_out(compile_cells(cells, TERMS_USED), "nnls", "family")
    right = pairs = 0
    for family in ("family-0", "family-1", "family-2"):
        rest = [cell for cell in cells if cell.family != family]
        table = fit_table(rest, FitArguments(method="nnls", terms=TERMS_USED)).coefficients
        judged = judge([cell for cell in cells if cell.family == family], table)
        right += judged.ordered_pairs * judged.pairwise_accuracy
        pairs += judged.ordered_pairs
    assert found.groups == 3
    assert found.metrics.ordered_pairs == pairs
    assert found.metrics.pairwise_accuracy == pytest.approx(right / pairs)


def test_a_report_holds_what_fit_and_judge_say(cells):
    held = {cells[0].key, cells[5].key}
    (found,) = compare(cells, TERMS_USED, held_out=held, methods=["nnls"], replicates=20)
    training = [cell for cell in cells if cell.key not in held]
    fitted = fit_table(training, FitArguments(method="nnls", terms=TERMS_USED))
    assert found.table == fitted
    assert found.train == judge(training, fitted.coefficients)
    assert found.holdout == judge([cells[0], cells[5]], fitted.coefficients)
    assert tuple(found.left_out) == LEFT_OUT
    for term, interval in found.coefficients.items():
        assert interval.value == fitted.coefficients[term]
        assert interval.low <= interval.high


def test_methods_stand_side_by_side_and_alike_every_time(cells):
    first, second = (compare(cells, TERMS_USED, replicates=3) for _ in range(2))
    assert first == second
    assert [found.method for found in first] == list(METHODS)
    assert all(found.holdout is None for found in first)


def test_a_grouping_of_one_group_is_left_alone(cells):
    same = [cell for cell in cells if cell.family == "family-1"]
    (found,) = compare(same, TERMS_USED, methods=["nnls"], replicates=2)
    assert "family" not in found.left_out


def test_ablation_takes_each_term_away_once(cells):
    found = ablate_terms(cells, TERMS_USED, "nnls")
    assert list(found) == list(TERMS_USED)
    without = compile_cells(cells, TERMS_USED[:2])
    assert found["gdn_level"].metrics == leave_out(without, "nnls", "cell").metrics
    assert "gdn_level" not in fit_evidence(without, "nnls").coefficients


def test_refusals(cells):
    with pytest.raises(InvalidInputError, match="no fitting method"):
        compare(cells, TERMS_USED, methods=["magic"])
    with pytest.raises(InvalidInputError, match="no such term"):
        compare(cells, ["moon"])
    with pytest.raises(IncompleteEvidenceError, match="two cells"):
        compare(cells[:1], TERMS_USED)
    with pytest.raises(IncompleteEvidenceError, match="0 not held out"):
        compare(cells, TERMS_USED, held_out={cell.key for cell in cells})
