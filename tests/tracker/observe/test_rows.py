from hashlib import sha256

import pytest

from planner import build_prefix_tree, mandatory_candidates, plan_layout, score_layout
from schemas import SelectionObserved
from tracker.observe._rows import NAMED_DECISIONS, layout_label, selection_row

AT = 1_900_000_000_123_456_789


def test_a_row_says_what_ran_under_which_table_and_what_it_predicts(plan):
    row = selection_row(AT, plan, 12.5, None, None, model="layout-cost")
    seen = SelectionObserved.parse(row, where="row")
    assert seen.plain() == {**seen.plain(), **row}
    assert (seen.version, seen.table_id, seen.version_digest) == (2, "known-table", "d" * 64)
    assert seen.at == "2030-03-17T17:46:40.123456Z"
    assert seen.candidate in plan.selection.labels
    assert seen.decisions == plan.decisions
    work = score_layout(plan.layout, plan.scoring.facts, plan.scoring.coefficients)[0]
    assert seen.predicted_us == pytest.approx(work / 1024 / 1000)
    assert seen.batch == sha256(plan.tree.identity).hexdigest()
    assert (seen.selected, seen.cell) == (None, None)
    assert (seen.facts.cp, seen.facts.layers, seen.facts.gdn_layers) == (2, 4, 3)


def test_an_alternative_that_ran_stands_beside_the_selected_layout(plan):
    other = plan_layout(plan.tree, () if plan.decisions else plan.tree.decisions)
    row = selection_row(AT, plan, 1, other, "a cell", model="layout-cost")
    assert row["candidate"] == layout_label(other) != row["selected"] == layout_label(plan.layout)
    assert row["predicted_us"] == pytest.approx(plan.predicted_us_of(other))
    assert row["cell"] == "a cell"


def test_the_selected_layout_run_by_its_own_name_is_no_alternative(plan):
    again = plan_layout(plan.tree, plan.decisions)
    assert selection_row(AT, plan, 1, again, None, model="m")["selected"] is None


def test_every_mandatory_candidate_is_named_as_the_calibration_names_it(plan):
    for candidate in mandatory_candidates(plan.tree):
        assert layout_label(candidate.layout) in candidate.labels


def test_a_layout_outside_the_family_and_one_of_a_large_tree_are_named_by_what_they_share(plan):
    family = {candidate.layout.mask for candidate in mandatory_candidates(plan.tree)}
    lone = next(
        layout
        for layout in (plan_layout(plan.tree, (node,)) for node in plan.tree.decisions)
        if layout.mask not in family
    )
    assert layout_label(lone) == f"shared_1_of_{len(plan.tree.decisions)}"
    chain = build_prefix_tree([[*range(length), 10**6] for length in range(1, NAMED_DECISIONS + 4)])
    assert len(chain.decisions) > NAMED_DECISIONS
    assert layout_label(plan_layout(chain, chain.decisions[:2])) == f"shared_2_of_{len(chain.decisions)}"
    assert layout_label(plan_layout(chain, ())) == "no_sharing"
    assert layout_label(plan_layout(chain, chain.decisions)) == "full_sharing"
