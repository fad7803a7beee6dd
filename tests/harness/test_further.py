"""Layouts that a plan asks for are timed beside the mandatory ones; what its rows do not have is refused."""

import pytest

from harness import AutomaticChoice, parse_campaign
from harness._cell import prepare_cell
from harness._further import further_layouts
from harness._workload import generate_rows
from planner import build_prefix_tree, mandatory_candidates
from schemas import AUTOMATIC, CellPlan, InvalidInputError

GROUPS = {"groups": [[6, 64, 16], [2, 64, 16]], "singles": [], "seed": 1}


def plan(**more) -> CellPlan:
    identity = {"workload": "w", "family": "f", "model": "m", "layers": 4, "shape": {}}
    workload = {"kind": "heterogeneous", "parameters": GROUPS}
    model = {"preset": "hybrid-small"}
    return CellPlan.parse({"identity": identity, "workload": workload, "model": model, **more}, where="test")


def tree_of(cell: CellPlan):
    return build_prefix_tree(generate_rows("heterogeneous", GROUPS, vocabulary=512))


def test_a_further_layout_is_timed_under_a_name_that_its_decisions_give():
    tree = tree_of(plan())
    one = (tree.decisions[0],)
    assert one not in {each.decisions for each in mandatory_candidates(tree)}
    prepared = prepare_cell(plan(layouts=[one]), AutomaticChoice())
    (extra,) = [variant for variant in prepared.variants if variant.name.startswith("layout_")]
    assert extra.layout.decisions == one and extra.candidate.labels == (extra.name,)
    again = prepare_cell(plan(layouts=[one, one[::-1]]), AutomaticChoice())
    assert [variant.name for variant in again.variants] == [variant.name for variant in prepared.variants]


def test_what_is_timed_anyway_is_not_timed_twice():
    tree = tree_of(plan())
    known = [each.decisions for each in mandatory_candidates(tree)]
    plain = prepare_cell(plan(), AutomaticChoice())
    asked = prepare_cell(plan(layouts=known), AutomaticChoice())
    assert [each.name for each in asked.variants] == [each.name for each in plain.variants]


def test_the_planner_s_choice_shares_the_samples_of_a_further_layout():
    automatic = AutomaticChoice(
        version=2, coefficients={"token_per_rank": 40_000, "tiny_segment_per_layer": 4_000_000}
    )
    alone = prepare_cell(plan(), automatic)
    assert alone.automatic.labels == (AUTOMATIC,)
    beside = prepare_cell(plan(layouts=[alone.automatic.decisions]), automatic)
    assert len(beside.automatic.labels) == 2 and beside.automatic.labels[1].startswith("layout_")
    assert AUTOMATIC not in {each.name for each in beside.variants}


@pytest.mark.parametrize("decisions", [(99,), (-1,), (0, 99)])
def test_what_the_rows_do_not_have_is_refused_with_the_cell(decisions):
    with pytest.raises(InvalidInputError, match=r"cell w\|m.*layouts"):
        further_layouts(plan(layouts=[decisions]), tree_of(plan()), ())


CAMPAIGN = """
campaign = "c"
table_id = "t"
[fit]
terms = ["token_per_rank"]
[models.m]
preset = "hybrid-small"
[workloads.w]
kind = "heterogeneous"
parameters = { groups = [[6, 64, 16], [2, 64, 16]], singles = [], seed = 1 }
[[cells]]
workloads = ["w"]
models = ["m"]
shapes = ["tp1cp1"]
LAYOUTS
"""


def test_a_campaign_file_may_ask_for_layouts_and_a_wrong_one_is_refused_before_it_is_registered():
    one = tree_of(plan()).decisions[0]
    manifest = parse_campaign(CAMPAIGN.replace("LAYOUTS", f"layouts = [[{one}]]"), "c.toml")
    assert manifest.cells[0].layouts == ((one,),)
    assert manifest.plain()["cells"][0]["layouts"] == [[one]]
    with pytest.raises(InvalidInputError, match="is no decision of this tree"):
        parse_campaign(CAMPAIGN.replace("LAYOUTS", "layouts = [[99]]"), "c.toml")


def test_a_manifest_that_asks_for_none_is_spelled_as_before():
    manifest = parse_campaign(CAMPAIGN.replace("LAYOUTS", ""), "c.toml")
    assert "layouts" not in manifest.plain()["cells"][0]
