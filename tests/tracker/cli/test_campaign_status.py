"""`campaign status`: what became of each cell, and how steady its attempt was."""

import json

from tracker.cli._campaign import remarks


def test_it_tells_stalls_drift_and_what_an_adaptive_rule_saved(call, campaigns, store):
    ledger = campaigns.known_ledger(store)
    calm, stalled, drifting = ledger.manifest("known").cells
    campaigns.record_cell(ledger, "known", calm, number=2, rounds=(1.0, 1.01, 0.99, 1.0, 1.005))
    campaigns.record_cell(ledger, "known", stalled, number=2, rounds=(1.0, 1.01, 0.99, 1.0, 7.0))
    rising = tuple(1.04**number for number in range(8))
    campaigns.record_cell(ledger, "known", drifting, number=2, rounds=rising)
    cells = json.loads(call("campaign", "status", "known", "--json").out)
    told = {cell["cell"]: cell for cell in cells}
    quiet, hit, moved = (told[plan.identity.key] for plan in (calm, stalled, drifting))
    assert (quiet["stalled_samples"], quiet["drifting"], quiet["stopped"]) == (0, False, None)
    # Every candidate of that cell stalled in the last round.
    assert hit["stalled_samples"] == hit["candidates"]
    assert not hit["drifting"]
    assert moved["drifting"]
    assert round(moved["drift_pct"]) == 32
    assert moved["drift_p"] < 0.01
    assert "+32%" in call("campaign", "status", "known").out
    assert [remarks(cell) for cell in (quiet, hit)] == ["", f"{hit['candidates']} stalled"]
    assert remarks(moved) in ("drift +32%", "held out, drift +32%")
    excluded = {**quiet, "failed_attempts": 2, "attempts": 3, "exclusion_reason": "throttled"}
    assert remarks(excluded) == "2 of 3 attempts failed, excluded: throttled"


def test_an_attempt_that_ended_early_says_why_and_what_it_saved(call, campaigns, store):
    ledger = campaigns.known_ledger(store)
    plan = ledger.manifest("known").cells[0]
    key = plan.identity.key
    end = {"reason": "separated", "rounds": 4, "saved": 8, "fastest": "no_sharing"}
    described, _ = campaigns.describe(plan, campaigns.TRUTH, "s" * 64)
    with ledger.log.open_segment("known", "attempt", {"cell": key, "attempt": "2"}) as segment:
        started = {"cell": key, "identity": plan.identity.plain(), "number": 2, "engine": "local"}
        segment.append("cell.started", {**started, "environment": {}})
        segment.append("cell.described", described)
        completed = {"cell": key, "usable": {}, "rank_reports": [{}], "wall_s": 1.0, "end": end}
        segment.append("cell.completed", completed)
    (cell,) = [
        each for each in json.loads(call("campaign", "status", "known", "--json").out) if each["cell"] == key
    ]
    assert (cell["stopped"], cell["rounds_saved"]) == ("separated", 8)
