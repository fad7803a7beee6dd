"""What ranks hold together is the batch, once; what a block sees is what the tree allows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness._comm import Axis, Groups, single_process
from harness._lastcall import LastCollective
from harness._pack import pack_rows
from harness._shard import ShardPlan, shard_plan
from harness.model import preset
from planner import build_prefix_tree, mandatory_candidates

ROWS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=9), min_size=1, max_size=5)
CONFIG = preset("attention-small")


def ranks(tp: int, cp: int) -> list[Groups]:
    """The places of every rank; nothing here communicates."""
    last = LastCollective()
    return [
        replace(single_process(), tp=Axis("tp", tp, t, None, last), cp=Axis("cp", cp, c, None, last))
        for c in range(cp)
        for t in range(tp)
    ]


def local_index(plan: ShardPlan, cp: int, rank: int) -> list[int]:
    """Packed index of each local token, -1 at padding."""
    gathered = np.full(cp * len(plan.tokens), -1)
    restore = range(len(plan.packed.tokens)) if plan.restore is None else plan.restore.numpy()
    gathered[np.array(restore)] = np.arange(len(plan.packed.tokens))
    return gathered.reshape(cp, -1)[rank].tolist()


@pytest.mark.parametrize("cp", [1, 2, 4])
@settings(max_examples=25)
@given(ROWS)
def test_every_packed_token_is_held_once_with_its_position_and_shards_are_equally_long(cp, rows):
    packed = pack_rows(rows, mandatory_candidates(build_prefix_tree(rows))[-1].layout)
    plans = [shard_plan(packed, CONFIG, groups) for groups in ranks(1, cp)]
    assert len({len(plan.tokens) for plan in plans}) == 1
    held = []
    for rank, plan in enumerate(plans):
        index = np.array(local_index(plan, cp, rank))
        real = index >= 0
        held.extend(index[real].tolist())
        assert (plan.tokens.numpy()[real] == packed.tokens[index[real]]).all()
        assert (plan.positions.numpy()[real] == packed.positions[index[real]]).all()
    assert sorted(held) == list(range(len(packed.tokens)))


@pytest.mark.parametrize("cp", [1, 2, 4])
@settings(max_examples=25)
@given(ROWS)
def test_a_token_sees_the_tokens_of_its_row_up_to_itself(cp, rows):
    for candidate in mandatory_candidates(build_prefix_tree(rows)):
        packed = pack_rows(rows, candidate.layout)
        allowed = {
            int(index[at]): index[: at + 1].tolist()
            for index in map(packed.row_index, range(len(rows)))
            for at in range(len(index))
        }
        for rank, groups in enumerate(ranks(1, cp)):
            plan = shard_plan(packed, CONFIG, groups)
            local = iter(local_index(plan, cp, rank))
            key_blocks = np.split(np.arange(len(packed.tokens)), np.cumsum(plan.key_sizes)[:-1])
            for size, block in zip(plan.query_sizes, plan.blocks, strict=True):
                keys = np.concatenate([key_blocks[key] for key in block.keys])
                mask = np.ones((size, len(keys)), dtype=bool)
                mask = np.tril(mask) if block.causal else mask if block.mask is None else block.mask.numpy()
                for row in mask:
                    token = next(local)
                    assert token == -1 or keys[row].tolist() == allowed[token]


@pytest.mark.parametrize(("tp", "cp"), [(1, 1), (2, 1), (1, 2), (2, 2)])
@settings(max_examples=25)
@given(ROWS)
def test_the_ranks_targets_are_the_batchs_targets_once(tp, cp, rows):
    packed = pack_rows(rows, mandatory_candidates(build_prefix_tree(rows))[0].layout)
    found = []
    for groups in ranks(tp, cp):
        plan = shard_plan(packed, CONFIG, groups)
        index = np.array(local_index(plan, cp, groups.cp.rank))
        own = index[plan.targets.hidden.numpy()][plan.targets.row.numpy()]
        found += zip(own.tolist(), plan.targets.token.tolist(), plan.targets.count.tolist(), strict=True)
        assert plan.targets.total == packed.total_targets
    expected = zip(
        packed.target_index.tolist(), packed.target_token.tolist(), packed.target_count.tolist(), strict=True
    )
    assert sorted(found) == sorted(expected)
