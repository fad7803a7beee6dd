"""One ledger of campaigns of the same cells, measured under several truths; tests only read it."""

from pathlib import Path

import pytest

from schemas import Manifest
from tracker._ledger import Ledger
from tracker.log import Log, read_segment

EXAMPLE = Path(__file__).resolve().parents[3] / "mlruns.example"


def measure(ledger, campaigns, name: str, truth=None, *, source: str = "s" * 64, **changes: str):
    """A campaign like `known` whose text is changed; another true table stands for another driver."""
    text = campaigns.TOML.replace('campaign = "known"', f'campaign = "{name}"')
    for old, new in changes.items():
        text = text.replace(old, new)
    plan = campaigns.known_manifest(text)
    campaigns.open_campaign(ledger, plan)
    for cell in plan.cells:
        campaigns.record_cell(ledger, name, cell, truth or campaigns.TRUTH, source=source)


@pytest.fixture(scope="package")
def other_truth(campaigns):
    """A driver under which small segments and levels cost many times as much."""
    return {**campaigns.TRUTH, "tiny_segment_per_layer": 30_000_000, "gdn_level": 30_000_000}


@pytest.fixture(scope="package")
def ledger(campaigns, other_truth, tmp_path_factory):
    """`known`; `again` of the same truth; `later` of another and on other code; parts of it; other cells."""
    ledger = campaigns.known_ledger(tmp_path_factory.mktemp("drift") / "ledger")
    every = 'workloads = ["grpo-a", "chain-a", "held-grpo"]'
    measure(ledger, campaigns, "again")
    measure(ledger, campaigns, "later", other_truth, source="new driver")
    measure(ledger, campaigns, "narrow", **{every: 'workloads = ["grpo-a"]'})
    measure(ledger, campaigns, "held", **{every: 'workloads = ["held-grpo"]'})
    measure(ledger, campaigns, "other", **{"hybrid-tiny": "attention-tiny"})
    return ledger


def record_again(target, source, campaign: str, name: str, factors=None) -> None:
    """Write a recorded campaign into another log under another name; some cells' times multiplied."""
    for place in source.segments(campaign):
        opened, *events, _ = read_segment(place.path)
        if opened.data["unit"] not in ("campaign", "attempt", "exclusion"):
            continue
        subject = {key: text for key, text in opened.subject.items() if key not in ("campaign", "segment")}
        with target.open_segment(name, opened.data["unit"], subject) as segment:
            for event in events:
                data = event.data
                if event.type == "campaign.opened":
                    plan = Manifest.parse({**data["manifest"], "campaign": name}, where=name)
                    data = {"manifest": plan.plain(), "manifest_digest": plan.digest}
                elif event.type == "sample.recorded":
                    data = {**data, "ms": data["ms"] * (factors or {}).get(data["cell"], 1.0)}
                segment.append(event.type, data, durable=False)


@pytest.fixture
def twice_recorded(tmp_path):
    """The recorded campaign under two names, in the second with the times of some cells multiplied."""

    def make(factors) -> Ledger:
        ledger = Ledger(tmp_path / "twice")
        record_again(ledger.log, Log(EXAMPLE), "cpu-quick", "first")
        record_again(ledger.log, Log(EXAMPLE), "cpu-quick", "second", factors)
        return ledger

    return make
