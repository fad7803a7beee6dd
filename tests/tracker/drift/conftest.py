"""One ledger of campaigns of the same cells, measured under several truths; tests only read it."""

import pytest


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
