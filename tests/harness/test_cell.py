"""What a cell is made of before a model exists: layouts to time, the planner's choice, the description."""

import json

import numpy as np
import pytest

from harness._campaign import parse_campaign
from harness._cell import prepare_cell
from harness._job import AutomaticChoice
from planner import PrefixTree, build_prefix_tree
from schemas import AUTOMATIC, CellPlan, DeviceClass, NotFoundError, digest_file

TEXT = """
campaign = "c"
table_id = "c"
[fit]
terms = ["token_per_rank"]
[models.a]
preset = "attention-small"
[workloads.w]
kind = "{kind}"
parameters = {parameters}
[[cells]]
workloads = ["w"]
models = ["a"]
shapes = ["tp1cp1"]
"""
# Ten rows share 40 tokens, two share 60: sharing the ten alone is no span, depth or savings policy.
UNEQUAL = "{ groups = [[10, 40, 5], [2, 60, 5]] }"


def plan_of(kind: str, parameters: str) -> CellPlan:
    return parse_campaign(TEXT.format(kind=kind, parameters=parameters), "c.toml").cells[0]


def described(cell):
    device = DeviceClass(capability="cpu:x", memory="below-70g")
    return cell.describe(source="s", device="d", device_class=device, automatic_version=3)


def test_a_choice_that_is_no_candidate_is_timed_by_itself():
    coefficients = {"token_per_rank": 100, "tiny_segment_per_layer": 10_000}
    cell = prepare_cell(
        plan_of("heterogeneous", UNEQUAL), AutomaticChoice(version=3, coefficients=coefficients)
    )
    *mandatory, own = cell.variants
    assert own.name == AUTOMATIC
    assert own.candidate == cell.automatic
    assert own.candidate.labels == (AUTOMATIC,)
    assert own.candidate.decisions not in {variant.candidate.decisions for variant in mandatory}
    assert [c.label for c in described(cell).candidates] == [variant.name for variant in mandatory]


def test_a_choice_that_is_a_candidate_carries_its_labels_and_is_timed_once():
    cell = prepare_cell(
        plan_of("heterogeneous", UNEQUAL), AutomaticChoice(coefficients={"token_per_rank": 1})
    )
    assert AUTOMATIC not in {variant.name for variant in cell.variants}
    name = cell.automatic.labels[1]
    (same,) = [variant for variant in cell.variants if variant.name == name]
    assert cell.automatic.labels[1:] == same.candidate.labels
    assert cell.automatic.decisions == same.candidate.decisions
    assert described(cell).corpus is None


def test_of_a_corpus_the_description_keeps_lengths_tree_and_digest_and_no_token(tmp_path):
    secret = [f"word{number}" for number in range(40)]
    rows = [[*secret, "x"], [*secret, "y", "z"], ["other"]]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, rows)))
    path, digest = str(tmp_path / "own.jsonl"), digest_file(tmp_path / "own.jsonl")
    plan = plan_of("file", f'{{ path = "{path}", tokens = "hashes", digest = "{digest}" }}')
    cell = prepare_cell(plan, AutomaticChoice())
    record = described(cell)
    assert record.corpus is not None
    assert record.corpus.digest == digest
    assert record.corpus.row_lengths == (41, 42, 1)
    assert record.tokens == 84
    text = json.dumps(record.plain())
    assert not any(word in text for word in (*secret, "other"))
    # Nor are the tokens that stand in for them there, one after another.
    assert str(cell.rows[0][:5].tolist())[1:-1] not in text
    shape = record.corpus
    again = PrefixTree(
        [parent for parent, _, _ in shape.segments],
        [end for _, _, end in shape.segments],
        list(shape.row_segments),
        list(shape.row_lengths),
    )
    tree = build_prefix_tree(cell.rows)
    assert again.segments == tree.segments
    assert again.decisions == tree.decisions


def test_a_corpus_that_is_gone_or_changed_is_refused(tmp_path):
    (tmp_path / "own.jsonl").write_text("[1, 2]\n")
    digest = digest_file(tmp_path / "own.jsonl")
    plan = plan_of("file", f'{{ path = "{tmp_path / "own.jsonl"}", digest = "{digest}" }}')
    assert np.array_equal(prepare_cell(plan, AutomaticChoice()).rows[0], [1, 2])
    (tmp_path / "own.jsonl").write_text("[1, 3]\n")
    with pytest.raises(NotFoundError, match="is not the one that was registered"):
        prepare_cell(plan, AutomaticChoice())
    (tmp_path / "own.jsonl").unlink()
    with pytest.raises(NotFoundError, match="does not exist; put it back"):
        prepare_cell(plan, AutomaticChoice())


@pytest.mark.slow(seconds=6)
def test_ranks_with_other_rows_or_layouts_do_not_start(run_ranks):
    grpo = "{{ prompts = 2, completions = 3, system = 9, prompt = 5, completion = {length}, seed = {seed} }}"
    plans = [
        plan_of("grpo", grpo.format(length=length, seed=seed)) for length, seed in ((4, 0), (4, 1), (5, 0))
    ]
    run_ranks("layouts", tp=1, cp=2, given={"plans": [plan.plain() for plan in plans]})
