"""Chunks hold each token once, after those before it; states go from a segment's end to its children."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness._deltaplan import DeltaPlan, delta_plan
from harness._pack import PackedRows, pack_rows
from harness.model import preset
from planner import build_prefix_tree, mandatory_candidates

ROWS = st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=9), min_size=1, max_size=6)


def plans(rows: list[list[int]], chunk: int) -> list[tuple[PackedRows, DeltaPlan]]:
    config = replace(preset("hybrid-small"), gdn_chunk=chunk)
    found = []
    for candidate in mandatory_candidates(build_prefix_tree(rows)):
        packed = pack_rows(rows, candidate.layout)
        order = np.arange(len(packed.tokens))
        found.append((packed, delta_plan(packed, order, order, config, "cpu")))
    return found


@pytest.mark.parametrize("chunk", [1, 3, 8])
@settings(max_examples=25)
@given(ROWS)
def test_a_tokens_window_ends_with_the_three_tokens_before_it_and_itself(chunk, rows):
    for packed, plan in plans(rows, chunk):
        zero = len(packed.tokens)
        windows = plan.windows.view(-1, chunk + 3)
        for index in map(packed.row_index, range(len(rows))):
            padded = [zero] * 3 + index.tolist()
            for at, token in enumerate(index):
                slot = int(plan.slots[token])
                assert int(plan.gates[slot]) == token
                window = windows[slot // chunk, slot % chunk : slot % chunk + 4]
                assert window.tolist() == padded[at : at + 4]
        assert (plan.gates != zero).sum() == zero


@pytest.mark.parametrize("chunk", [1, 3, 8])
@settings(max_examples=25)
@given(ROWS)
def test_walking_the_levels_hands_each_chunk_all_that_its_row_read_before(chunk, rows):
    """The scan run with lists of tokens as states: a chunk begins with exactly its row's earlier tokens."""
    for packed, plan in plans(rows, chunk):
        zero = len(packed.tokens)
        before = {
            int(token): index[:at].tolist()
            for index in map(packed.row_index, range(len(rows)))
            for at, token in enumerate(index)
        }
        chunks = iter([[t for t in part if t != zero] for part in plan.gates.view(-1, chunk).tolist()])
        handed: list[list[int]] = []
        for level in plan.levels:
            states = (
                [handed[p] for p in level.parents] if level.parents is not None else [[]] * level.segments
            )
            handed = []
            assert sum(step.active for step in level.steps) == level.chunks
            for step in level.steps:
                tokens = [next(chunks) for _ in range(step.active)]
                assert all(before[own[0]] == state for own, state in zip(tokens, states, strict=True))
                states = [state + own for own, state in zip(tokens, states, strict=True)][: step.updated]
                handed += states[step.continuing :]
                states = states[: step.continuing]
        assert next(chunks, None) is None
