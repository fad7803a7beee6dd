"""Cells of a user's own rows stay searchable where the rows themselves are gone."""

import json

import pytest

from harness import cell_rows, parse_campaign
from harness._corpus import corpus_shape
from planner import build_prefix_tree
from tracker._selecting import searched_cells


@pytest.fixture
def own_campaign(campaigns, tmp_path, monkeypatch):
    """The campaign `known`, whose first cell's rows come from a file; returns the ledger and the file."""
    path = tmp_path / "rows.jsonl"
    rows = [[1, 2, 3, 4, *tail] for tail in ([5], [6, 7], [6, 8], [])] + [[9]]
    path.write_text("\n".join(map(json.dumps, rows)))
    before, rest = campaigns.TOML.split('kind = "grpo"\n', 1)
    text = f'{before}kind = "file"\nparameters = {{ path = "{path}" }}\n{rest.split(chr(10), 1)[1]}'
    describe = campaigns.describe

    def with_corpus(plan, truth, source):
        described, times = describe(plan, truth, source)
        if plan.workload.kind == "file":
            described["corpus"] = corpus_shape(cell_rows(plan), "d" * 64).plain()
        return described, times

    monkeypatch.setattr(campaigns, "describe", with_corpus)
    return campaigns.known_ledger(tmp_path / "ledger", parse_campaign(text, "known.toml")), path


def test_a_search_needs_no_corpus_and_finds_the_same_tree(own_campaign):
    ledger, path = own_campaign
    plan = next(plan for plan in ledger.manifest("known").cells if plan.workload.kind == "file")
    meant = build_prefix_tree(cell_rows(plan))
    path.unlink()
    searched, unsearched = searched_cells(ledger, "known")
    assert unsearched == ()
    assert len(searched) == 3
    (own,) = [each for each in searched if each.cell.key == plan.identity.key]
    assert own.tree.segments == meant.segments
    assert own.tree.decisions == meant.decisions == (0, 2)
