"""What a fit's run says first: its verdict, what failed, how well it selects."""

from pathlib import Path

import pytest

from schemas import FitCompleted, GateVerdict
from tracker._payloads import payloads
from tracker.log import read_segment
from tracker.mirror._fit import SHOWN, describe_fit

RECORDED = Path(__file__).parents[2] / "assets" / "fit-0.1" / "log" / "known"


@pytest.fixture(scope="module")
def events():
    (path,) = RECORDED.glob("*.jsonl")
    return read_segment(path)


def with_gates(events, gates: list[GateVerdict]):
    """The recorded fit as if these were its verdicts."""
    ((_, fit),) = payloads(events, "fit.completed", FitCompleted)
    passed = all(gate.passed for gate in gates)
    data = fit.model_copy(update={"gates": tuple(gates), "passed": passed}).plain()
    return [
        event.model_copy(update={"data": data}) if event.type == "fit.completed" else event
        for event in events
    ]


def test_a_fit_says_how_well_it_selects_beside_version_1(events):
    ((_, fit),) = payloads(events, "fit.completed", FitCompleted)
    note = describe_fit(events).note
    assert "**gates passed**" in note and "report.html" in note
    found = fit.metrics["holdout"]
    assert f"| held-out cells | {found.ordered_pairs} | {found.pairwise_accuracy * 100:.2f} |" in note
    assert f"| version 1, all cells | {fit.hand_set.ordered_pairs} |" in note


def test_a_failed_fit_names_the_gates_that_failed_a_few_of_many(events):
    good = GateVerdict(gate="regret-max", group="pooled", value=1.0, limit=10.0, passed=True)
    bad = [
        GateVerdict(gate="pairwise", group=f"model=a_{n}*", value=84.2, limit=90.0, passed=False)
        for n in range(SHOWN + 2)
    ]
    told = describe_fit(with_gates(events, [good, *bad]))
    assert (told.status, told.verdict) == ("FAILED", "gates failed")
    assert "- pairwise on model=a_0&#42;: 84.20%, limit 90%" in told.note
    assert told.note.count("84.20%") == SHOWN and "2 more, in the artifact `gates.json`" in told.note
    assert "regret-max" not in told.note
