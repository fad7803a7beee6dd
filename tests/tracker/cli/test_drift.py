"""`drift`: before and after a change, the promoted version on the new evidence, what production saw."""

import json

import pytest

from planner import Plan, ScoringFacts, build_prefix_tree, select_layout
from planner._version import Scoring
from tracker.observe import SelectionObserver


@pytest.fixture
def changed(call, certified, campaigns):
    """`known` certified, registered and promoted as version 2; `later` measured on a slower driver."""
    call("register", "known")
    forced = call("promote", "2", "--reason", "a test", "--force")
    assert forced.code == 0, forced.err
    plan = campaigns.known_manifest(campaigns.TOML.replace('campaign = "known"', 'campaign = "later"'))
    truth = {**campaigns.TRUTH, "tiny_segment_per_layer": 30_000_000, "gdn_level": 30_000_000}
    campaigns.open_campaign(certified, plan)
    for cell in plan.cells:
        campaigns.record_cell(certified, "later", cell, truth, source="new driver")
    return certified


@pytest.mark.slow(seconds=40)
def test_a_promoted_version_that_fails_on_the_new_evidence_ends_with_5(call, changed, campaigns):
    outcome = call("drift", "known", "later", "--json")
    assert outcome.code == 5
    assert "rollback" in outcome.err
    found = json.loads(outcome.out)
    assert found["version"]["version"] == 2 and not found["version"]["passed"]
    assert len(found["cells_moved"]) == 3
    assert [change["part"] for change in found["fingerprints"]] == ["source"]
    assert found["winners"] and found["selections"]
    assert found["production"] is None

    said = call("drift", "known", "later")
    assert said.code == 5
    assert "3 of 3 cells moved, at most" in said.err
    assert "regret-max on pooled" in said.err
    assert "no trainer told what it ran" in said.err
    assert "Version 2" not in said.err and "gates" in said.out

    facts = ScoringFacts(layers=4, gdn_layers=3, uses_gdn=True)
    tree = build_prefix_tree([[1, 2, 3], [1, 2, 4]])
    scoring = Scoring("known-table", campaigns.TRUTH, facts, 2, "d" * 64)
    plan = Plan(tree, select_layout(tree, facts, campaigns.TRUTH), scoring)
    with SelectionObserver(changed.store) as observer:
        observer.observe(plan, 12.5)
    split = call("drift", "known", "later", "--since", "2099-01-01", "--version", "1", "--json")
    production = json.loads(split.out)["production"]
    assert (production["steps"], production["lost"]) == (1, 0)
    assert production["since"] == "2099-01-01T00:00:00.000000Z"
    (place,) = production["places"]
    assert (place["place"], place["earlier"]) == ("version 2, known-table, tp1|cp1 L4", 1)


def test_without_a_promoted_version_the_campaigns_are_compared_all_the_same(call, known, campaigns):
    plan = campaigns.known_manifest(campaigns.TOML.replace('campaign = "known"', 'campaign = "again"'))
    campaigns.open_campaign(known, plan)
    for cell in plan.cells:
        campaigns.record_cell(known, "again", cell)
    outcome = call("drift", "known", "again")
    assert outcome.code == 0, outcome.err
    assert "0 of 3 cells moved" in outcome.err
    assert "no version is promoted" in outcome.err
    assert call("drift", "known", "again", "--version", "7").code == 7  # there is no registry yet


def test_what_cannot_be_compared_is_refused(call, known):
    assert call("drift", "known", "known").code == 2
    assert call("drift", "known", "nobody").code == 3
