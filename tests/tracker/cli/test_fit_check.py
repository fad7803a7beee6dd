"""`fit check`: the real search under the fitted table; a table of the past judged on later cells."""

import json

import pytest

from planner import build_prefix_tree, select_layout
from schemas import CorruptionError
from tracker._planning import cell_rows
from tracker._selecting import search_campaign


@pytest.fixture
def fitted(call, known):
    assert call("fit", "known", "--method", "nnls").code == 0
    return known


def test_every_cell_is_searched_under_the_fitted_table(call, fitted, campaigns):
    found = json.loads(call("fit", "check", "--json").out)
    assert [cell["cell"] for cell in found["cells"]] == sorted(fitted.manifest("known").keys)
    table = fitted.fit("known", found["fit"]).table
    for cell in found["cells"]:
        (plan,) = [plan for plan in fitted.manifest("known").cells if plan.identity.key == cell["cell"]]
        measured = {each.cell: each for each in fitted.certified_cells("known")}[cell["cell"]]
        facts = campaigns.ScoringFacts(cp_size=1, tp_size=1, layers=4, gdn_layers=3, uses_gdn=True)
        assert measured.facts.layers == 4
        selected = select_layout(build_prefix_tree(cell_rows(plan)), facts, table)
        assert tuple(cell["decisions"]) == selected.decisions
        assert (cell["regret_pct"] is None) == (cell["cell"] in found["outside"])
    assert {plan["identity"]["workload"] for plan in found["to_measure"]} == {
        key.split("|")[0] for key in found["outside"]
    }


def test_the_timed_automatic_choice_stands_beside(call, campaigns, store):
    ledger = campaigns.known_ledger(store)
    plan = ledger.manifest("known").cells[0]
    described, times = campaigns.describe(plan, campaigns.TRUTH, "s" * 64)
    cell, best = plan.identity.key, min(times.values())
    with ledger.log.open_segment("known", "attempt", {"cell": cell, "attempt": "2"}) as segment:
        started = {"cell": cell, "identity": plan.identity.plain(), "number": 2, "engine": "local"}
        segment.append("cell.started", {**started, "environment": {}})
        segment.append("cell.described", described)
        for number in range(4):
            for label, ms in {**times, "automatic": best * 1.1}.items():
                segment.append("sample.recorded", campaigns.sample(cell, label, number, 0, ms), durable=False)
        usable = dict.fromkeys(times, 4)
        segment.append(
            "cell.completed", {"cell": cell, "usable": usable, "rank_reports": [{}], "wall_s": 1.0}
        )
    call("fit", "--method", "nnls")
    found = {each["cell"]: each for each in json.loads(call("fit", "check", "--json").out)["cells"]}
    assert found[cell]["automatic_regret_pct"] == pytest.approx(10)
    # Elsewhere the choice is a mandatory candidate, and that one's samples are its own.
    others = [each for key, each in found.items() if key != cell]
    assert [each["automatic_regret_pct"] > 0 for each in others] == [True, True]


def test_a_table_of_the_earlier_cells_judges_the_later_ones(call, fitted):
    found = json.loads(call("fit", "check", "--first", "2", "--json").out)
    assert [cell["cell"].split("|")[0] for cell in found["cells"]] == ["held-grpo"]
    assert found["method"] == fitted.manifest("known").fit.method
    later = json.loads(call("fit", "check", "--first", "1", "--json").out)
    assert [cell["cell"].split("|")[0] for cell in later["cells"]] == ["chain-a", "held-grpo"]


def test_nothing_earlier_or_nothing_later_is_said(call, fitted):
    for options in (("--before", "2001-01-01"), ("--first", "9")):
        outcome = call("fit", "check", *options)
        assert outcome.code == 4, outcome.err
        assert "cell" in outcome.err
    assert call("fit", "check", "--first", "1", "--before", "2001-01-01").code == 2


def test_without_a_fit_that_is_said(call, known):
    outcome = call("fit", "check")
    assert outcome.code == 3
    assert "no fit" in outcome.err


def test_rows_that_are_not_those_measured_are_refused(fitted, monkeypatch):
    monkeypatch.setattr("tracker._selecting.rows_digest", lambda rows: "0" * 64)
    with pytest.raises(CorruptionError, match="not those that were measured"):
        search_campaign(fitted, "known")


def test_imported_cells_have_no_rows_to_search(call, calibration, tmp_path):
    rows = [*calibration.measured(calibration.cell()), *calibration.measured(calibration.cell("held-b"))]
    file = calibration.write(tmp_path / "c.jsonl", rows)
    call("import", "art-jsonl", file, "--campaign", "imported", "--holdout", "held-", "--required", "3")
    call("fit", "imported")
    outcome = call("fit", "check", "imported")
    assert outcome.code == 3
    assert "imported cells have none" in outcome.err
