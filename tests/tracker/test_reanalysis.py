"""What a fit recorded beside its table is made again from its evidence, and a change to it is found."""

import copy

import pytest

from tracker._fits import fit_campaign
from tracker._reanalysis import _differences, check_analysis
from tracker.log import read_segment


@pytest.fixture(scope="module")
def ledger(campaigns, tmp_path_factory):
    return campaigns.known_ledger(tmp_path_factory.mktemp("known") / "ledger")


@pytest.fixture(scope="module")
def recorded(ledger) -> str:
    return fit_campaign(ledger, "known").id


def recorded_otherwise(ledger, fit: str, change) -> str:
    """The same fit in a segment of its own, with some events changed or left out."""
    with ledger.log.open_segment("known", "fit") as segment:
        for event in read_segment(ledger.log.find(fit).path):
            if event.type.startswith("fit."):
                data = copy.deepcopy(event.data)
                if change(event.type, data):
                    segment.append(event.type, data, durable=False)
    return segment.segment


@pytest.mark.slow(seconds=20)
def test_what_was_changed_is_found_and_what_an_older_fit_lacks_is_not(ledger, recorded):
    def change(kind, data):
        for name in ("stalls", "drift_pct", "drifting"):
            data.pop(name, None)
        if kind == "fit.analysed":
            data["intervals"][min(data["intervals"])]["high"] += 7
        if kind == "fit.cell_judged" and data["cell"] == ledger.manifest("known").keys[0]:
            data["selection"]["regret_pct"] += 1.0
        return True

    check = check_analysis(ledger, "known", recorded_otherwise(ledger, recorded, change))
    assert not check.passed
    interval, regret = check.detail.split("; ")
    assert interval.startswith("intervals.") and ".high: " in interval
    assert "selection.regret_pct: 1.0 recorded, 0.0 made again" in regret


@pytest.mark.slow(seconds=20)
def test_a_fit_recorded_without_its_analysis_is_skipped_and_that_is_said(ledger, recorded):
    bare = recorded_otherwise(ledger, recorded, lambda kind, data: kind == "fit.completed")
    check = check_analysis(ledger, "known", bare)
    assert (check.passed, check.skipped) == (True, True)
    assert "without intervals" in check.detail


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ({"intervals": {"t": {"low": 100}}}, {"intervals": {"t": {"low": 101}}}, True),
        ({"intervals": {"t": {"low": 100}}}, {"intervals": {"t": {"low": 102}}}, False),
        ({"c": {"regret_pct": 1.0}}, {"c": {"regret_pct": 1.0002}}, True),
        ({"c": {"regret_pct": 1.0}}, {"c": {"regret_pct": 1.0003}}, False),
        ({"c": {"predicted_us": 7}}, {"c": {"predicted_us": 8}}, False),
        ({"c": {"selected": "a"}}, {"c": {"selected": "b"}}, False),
        ({"c": {"drifting": True}}, {"c": {"drifting": False}}, False),
        ({"c": {"drift_pct": None}}, {"c": {"drift_pct": 3.0}}, True),
        ({"c": {"noise_pct": None}}, {"c": {"noise_pct": 3.0}}, False),
        ({"c": [1, 2]}, {"c": [1]}, False),
        ({"c": 1}, {}, False),
    ],
)
def test_only_last_digits_may_differ(one, other, alike):
    assert (list(_differences(one, other)) == []) == alike
