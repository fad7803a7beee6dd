"""The rule for one-kernel attention is the tree: ancestors and oneself, nothing later, no padding."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from harness._pack import PackedRows, pack_rows
from harness._sight import sight
from planner import build_prefix_tree, mandatory_candidates

ROWS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=9), min_size=1, max_size=5)


def visible(packed: PackedRows, rows: int) -> set[tuple[int, int]]:
    """(query, key) pairs: a key stands before a query, or is it, in some row."""
    pairs = set()
    for index in map(packed.row_index, range(rows)):
        pairs |= {(int(query), int(key)) for at, query in enumerate(index) for key in index[: at + 1]}
    return pairs


@settings(max_examples=40)
@given(ROWS, st.randoms(use_true_random=False))
def test_a_query_sees_what_stands_before_it_in_a_row_in_whatever_order_tokens_lie(rows, random):
    for candidate in mandatory_candidates(build_prefix_tree(rows)):
        packed = pack_rows(rows, candidate.layout)
        gathered = [*range(len(packed.tokens)), -1, -1]
        random.shuffle(gathered)
        local = gathered[: len(gathered) // 2 + 1]
        found = sight(packed, np.array(local), np.array(gathered), "cpu")
        queries, keys = torch.arange(len(local))[:, None], torch.arange(len(gathered))[None]
        seen = found.rule()(torch.tensor(0), torch.tensor(0), queries, keys).numpy()
        expected = visible(packed, len(rows))
        for query, token in enumerate(local):
            keys_seen = {gathered[key] for key in np.flatnonzero(seen[query])}
            assert keys_seen == {key for at, key in expected if at == max(token, 0)}


def test_blocks_without_a_visible_key_are_left_out():
    rows = [list(range(200)), list(range(1, 201))]
    packed = pack_rows(rows, mandatory_candidates(build_prefix_tree(rows))[0].layout)
    whole = np.arange(len(packed.tokens))
    blocks = sight(packed, whole, whole, "cpu").block_mask().to_dense()[0, 0]
    # Of 400 tokens, 128 to a block, the second row's begin in block 1.
    assert blocks.tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 1, 1]]
