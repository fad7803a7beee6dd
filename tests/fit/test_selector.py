import dataclasses

import numpy as np
import pytest

from fit import FitCandidate, FitCell, SearchedCell, check_selector, judge_cells, prospective_check
from planner import ScoringFacts, build_prefix_tree, mandatory_candidates, score_layout, select_layout
from schemas import FitArguments, IncompleteEvidenceError, InvalidInputError

TRUTH = {"token_per_rank": 2000, "gdn_level": 90_000}
FACTS = ScoringFacts(layers=4, gdn_layers=3, uses_gdn=True)


def searched(number, prompts=((40, 3), (2, 5), (300, 2)), head=12, truth=TRUTH):
    """A cell measured exactly as the truth says: a common head, prompts below it, rows below each."""
    rng = np.random.default_rng(number)
    start, rows = rng.integers(0, 10**6, head), []
    for first, (length, count) in enumerate(prompts):
        prompt = np.concatenate([start, [10**7 + first], rng.integers(0, 10**6, length)])
        rows += [np.concatenate([prompt, [2 * 10**7 + n], rng.integers(0, 9, 30)]) for n in range(count)]
    tree = build_prefix_tree(rows)
    candidates = tuple(
        FitCandidate(
            c.labels[0],
            c.layout.features,
            score_layout(c.layout, FACTS, truth)[0] / 1024 / 1e6,
            7,
            0.5,
            len(c.decisions),
        )
        for c in sorted(mandatory_candidates(tree), key=lambda c: c.labels[0])
    )
    return SearchedCell(FitCell(f"cell-{number}", "m", "f", "tp1|cp1", FACTS, candidates), tree)


def test_a_measured_selection_has_its_regret():
    cell = searched(0)
    (found,) = check_selector([cell], {"gdn_level": 1})
    (expected,) = judge_cells([cell.cell], {"gdn_level": 1})
    assert (found.selected, found.best) == (expected.selected, expected.best) == ("no_sharing", found.best)
    assert found.regret_pct == pytest.approx(expected.regret_pct)
    assert found.regret_pct > 0
    assert found.labels[0] == found.selected


def test_the_search_is_the_planners_own():
    cell = searched(1)
    for table, budget in ((TRUTH, None), (None, None), (TRUTH, 10)):
        (found,) = check_selector([cell], table, refinement_budget=budget)
        expected = select_layout(cell.tree, FACTS, table, refinement_budget=budget)
        assert (found.decisions, found.features) == (expected.decisions, expected.layout.features)


def test_a_selection_outside_the_family_is_listed_unmeasured():
    """Of two prompts alike in depth and span, only the one with many rows pays: no policy says so."""
    table = {"token_per_rank": 2000, "tiny_segment_per_layer": 100_000}
    (found,) = check_selector([searched(0, prompts=((120, 2), (110, 9)), head=1)], table)
    assert (found.labels, found.selected, found.regret_pct) == ((), None, None)
    assert len(found.decisions) == 1


def test_a_member_of_the_family_that_was_not_measured_is_unmeasured():
    cell = searched(0)
    (best,) = check_selector([cell], TRUTH)
    rest = tuple(c for c in cell.cell.candidates if c.label != best.selected)
    thinner = dataclasses.replace(cell, cell=dataclasses.replace(cell.cell, candidates=rest))
    (found,) = check_selector([thinner], TRUTH)
    assert found.labels == best.labels
    assert found.selected is None


def test_automatic_regret_stands_beside_and_may_be_negative():
    cell = searched(0)
    best = min(c.median_ms for c in cell.cell.candidates)
    (found,) = check_selector([dataclasses.replace(cell, automatic_ms=best * 0.9)], TRUTH)
    assert found.automatic_regret_pct == pytest.approx(-10.0)
    assert check_selector([cell], TRUTH)[0].automatic_regret_pct is None


def test_a_table_of_earlier_cells_is_judged_on_later_ones():
    earlier = [searched(n, prompts=((40 * n, 3), (9, 5), (300, n))).cell for n in range(1, 7)]
    later = [
        dataclasses.replace(c, automatic_ms=2 * min(x.median_ms for x in c.cell.candidates))
        for c in (searched(n, prompts=((25 * n, 4), (70, 2))) for n in (10, 11, 12))
    ]
    found = prospective_check(earlier, later, FitArguments(method="nnls", terms=tuple(TRUTH)))
    assert found.verdicts == check_selector(later, found.table.coefficients)
    assert found.selected is not None and found.automatic is not None
    assert found.selected.cells + len(found.unmeasured) == 3
    assert found.selected.max_pct == pytest.approx(0.0, abs=1e-6)
    assert found.automatic.mean_pct == pytest.approx(100.0)


def test_refusals():
    cell = searched(0)
    arguments = FitArguments(method="nnls", terms=tuple(TRUTH))
    with pytest.raises(InvalidInputError, match="cell-0"):
        prospective_check([cell.cell], [cell], arguments)
    with pytest.raises(IncompleteEvidenceError, match="measured later"):
        prospective_check([cell.cell], [], arguments)
