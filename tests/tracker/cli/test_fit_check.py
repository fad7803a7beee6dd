"""`fit check`: the real search under the fitted table; a table of the past judged on later cells."""

import json
import shutil
from pathlib import Path

import pytest

from harness import AutomaticChoice, cell_rows, load_campaign
from harness._cell import prepare_cell
from planner import build_prefix_tree, select_layout
from schemas import CorruptionError
from tracker._fits import fit_campaign
from tracker._ledger import Ledger
from tracker._selecting import search_campaign


@pytest.fixture(scope="module")
def fitted_once(known_once, tmp_path_factory) -> Path:
    """The campaign `known`, fitted: to be copied."""
    ledger = Ledger(shutil.copytree(known_once, tmp_path_factory.mktemp("fitted") / "ledger"))
    assert fit_campaign(ledger, "known", method="nnls").result.passed
    return ledger.store


@pytest.fixture
def fitted(fitted_once, store) -> Ledger:
    return Ledger(shutil.copytree(fitted_once, store))


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


APART = """
campaign = "apart"
table_id = "apart-table"
[protocol]
rounds = 3
required = 3
extra_rounds = 12
disturbed_pct = 1e9
[holdout]
contains = ["held-"]
[fit]
method = "nnls"
terms = ["token_per_rank", "tiny_segment_per_layer"]
[models.small]
preset = "hybrid-small"
# Both groups share as much, one for six rows, one for two: no mandatory candidate shares the first alone.
[workloads.two]
kind = "heterogeneous"
parameters = { groups = [[6, 64, 16], [2, 64, 16]], singles = [], seed = 1 }
[workloads.held-two]
kind = "heterogeneous"
parameters = { groups = [[5, 64, 16], [2, 64, 16]], singles = [], seed = 2 }
# Without short segments, so that the fit can tell tokens from segments.
[workloads.long]
kind = "grpo"
parameters = { prompts = 1, completions = 3, system = 130, prompt = 130, completion = 130 }
[[cells]]
workloads = ["two", "long", "held-two"]
models = ["small"]
shapes = ["tp1cp1"]
"""
FIRST_ALONE = {"token_per_rank": 40_000, "tiny_segment_per_layer": 4_000_000}


@pytest.fixture(scope="module")
def apart_once(campaigns, fitted_once, tmp_path_factory) -> Path:
    """Beside `known` a campaign whose table selects a layout in each cell that no one has measured."""
    store = shutil.copytree(fitted_once, tmp_path_factory.mktemp("apart") / "ledger")
    ledger = campaigns.known_ledger(store, campaigns.known_manifest(APART), FIRST_ALONE)
    fit_campaign(ledger, "apart")
    return ledger.store


@pytest.fixture
def apart(apart_once, store) -> Ledger:
    return Ledger(shutil.copytree(apart_once, store))


def test_selections_that_no_one_measured_become_a_campaign_that_measures_them(call, apart, tmp_path):
    file = tmp_path / "selected.json"
    found = json.loads(call("fit", "check", "apart", "--campaign-out", file, "--json").out)
    assert len(found["outside"]) == 2
    written = load_campaign(file)
    assert written.campaign == f"apart-selected-{found['table_digest'][:8]}"
    selected = {
        cell["cell"]: tuple(cell["decisions"]) for cell in found["cells"] if cell["cell"] in found["outside"]
    }
    assert {plan.identity.key: plan.layouts for plan in written.cells} == {
        key: (decisions,) for key, decisions in selected.items()
    }
    registered = apart.manifest("apart")
    assert (written.protocol, written.gates, written.fit) == (
        registered.protocol,
        registered.gates,
        registered.fit,
    )
    (plan, *_) = written.cells
    timed = {variant.layout.decisions for variant in prepare_cell(plan, AutomaticChoice()).variants}
    plain = {
        variant.layout.decisions for variant in prepare_cell(registered.cells[0], AutomaticChoice()).variants
    }
    assert timed == plain | {selected[plan.identity.key]}


def test_nothing_is_written_where_everything_was_measured_or_the_name_is_wrong(call, apart, tmp_path):
    outside = json.loads(call("fit", "check", "known", "--json").out)["outside"]
    outcome = call("fit", "check", "known", "--campaign-out", tmp_path / "x.json")
    assert outcome.code == 0 and (tmp_path / "x.json").exists() == bool(outside)
    refused = call("fit", "check", "apart", "--campaign-out", tmp_path / "x.toml")
    assert refused.code == 2 and "ends in .json" in refused.err
    refused = call("fit", "check", "apart", "--campaign-out", tmp_path / "no" / "x.json")
    assert refused.code == 7 and "cannot be written" in refused.err


@pytest.mark.slow(seconds=30)
def test_what_was_sent_back_is_measured_and_then_inside(call, apart, tmp_path):
    file = tmp_path / "selected.json"
    first = json.loads(call("fit", "check", "apart", "--campaign-out", file, "--json").out)
    measured = call("campaign", "run", file, "--json")
    assert measured.code == 0, measured.err
    name = load_campaign(file).campaign
    again = json.loads(call("fit", "check", name, "--fit", first["fit"], "--json").out)
    assert again["outside"] == [] and again["table_digest"] == first["table_digest"]
    for cell in again["cells"]:
        assert cell["selected"].startswith("layout_") and cell["regret_pct"] is not None
