import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from planner import build_prefix_tree, naive


def columns(tree):
    return [(node.parent, node.start, node.end, node.depth, node.rows) for node in tree.segments]


@given(data=st.data())
def test_agrees_with_the_token_by_token_tree(data, row_sets, make_rows):
    rows = make_rows(data.draw(row_sets()))
    tree, plain = build_prefix_tree(rows), naive.prefix_tree([row.tolist() for row in rows])
    assert columns(tree) == [(n.parent, n.start, n.end, n.depth, n.rows) for n in plain.nodes]
    assert tree.decisions == plain.decisions
    assert [plain.last_node(row) for row in range(len(rows))] == tree.row_nodes


@given(data=st.data())
def test_few_tokens_make_every_kind_of_meeting(data):
    """Rows over a tiny alphabet: duplicates, prefixes, a tail that equals another row's start."""
    rows = data.draw(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=7), min_size=1, max_size=12))
    plain = naive.prefix_tree(rows)
    found = build_prefix_tree(rows)
    assert columns(found) == [(n.parent, n.start, n.end, n.depth, n.rows) for n in plain.nodes]


@given(data=st.data())
def test_rows_of_a_segment_are_those_that_agree_through_it(data, row_sets, make_rows):
    rows = make_rows(data.draw(row_sets()))
    for segment in build_prefix_tree(rows).segments:
        first = rows[segment.rows[0]][: segment.end]
        same = [i for i, row in enumerate(rows) if np.array_equal(row[: segment.end], first)]
        assert segment.rows == tuple(same)
        assert segment.row_count == len(same)


@pytest.mark.parametrize(
    "convert",
    [
        lambda row: row.tolist(),
        lambda row: tuple(row.tolist()),
        lambda row: row.astype(np.int32),
        lambda row: row.astype(np.uint64),
        lambda row: np.repeat(row, 2)[::2],
        torch.from_numpy,
        lambda row: torch.from_numpy(row).to(torch.int32),
    ],
)
def test_numpy_torch_and_lists_give_one_tree(convert, make_grpo):
    rows = make_grpo(2, 3, (40, 30, 5))
    assert columns(build_prefix_tree([convert(row) for row in rows])) == columns(build_prefix_tree(rows))


def test_integer_types_may_be_mixed(make_grpo):
    rows = make_grpo(2, 3, (40, 30, 5))
    mixed = [row.tolist() if i % 2 else row.astype(np.uint32) for i, row in enumerate(rows)]
    assert build_prefix_tree(mixed).identity == build_prefix_tree(rows).identity


def test_a_matrix_is_a_sequence_of_rows():
    tree = build_prefix_tree(np.array([[1, 2, 3], [1, 2, 4]]))
    assert [(n.start, n.end) for n in tree.segments] == [(0, 2), (2, 3), (2, 3)]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "no rows"),
        ([[1, 2], []], "row 1 is empty"),
        ([np.array([], dtype=np.int64)], "row 0 is empty"),
        ([[1.0, 2.0]], "row 0 must hold integers, got float64"),
        ([[True, False]], "row 0 must hold integers, got bool"),
        ([["a"]], "row 0 must hold integers"),
        ([[[1, 2], [3, 4]]], "one dimension"),
        ([[[1, 2], [3]]], "row 0 is no sequence of tokens"),
        ([5], "one dimension"),
        ([np.array([2**63], dtype=np.uint64)], "above 2"),
    ],
)
def test_what_is_no_set_of_rows_is_refused(rows, said):
    with pytest.raises(ValueError, match=said):
        build_prefix_tree(rows)


def test_identity_is_equal_for_equal_trees_only(make_rows):
    first = make_rows([[(1, 10), (2, 5)], [(1, 10), (3, 5)]])
    renamed = make_rows([[(7, 10), (8, 5)], [(7, 10), (9, 5)]])
    longer = make_rows([[(1, 11), (2, 5)], [(1, 11), (3, 5)]])
    swapped = make_rows([[(1, 10), (2, 6)], [(1, 10), (3, 5)]])
    assert build_prefix_tree(first).identity == build_prefix_tree(renamed).identity
    others = {build_prefix_tree(rows).identity for rows in (longer, swapped)}
    assert len(others | {build_prefix_tree(first).identity}) == 3


def test_a_chain_of_five_thousand_levels_needs_no_recursion():
    depth = 5000
    rows = [np.arange(length + 1) for length in range(depth)]
    tree = build_prefix_tree(rows)
    assert len(tree) == depth
    assert tree.depths[-1] == depth
    assert len(tree.decisions) == depth - 1


def test_repr_says_how_large_it_is(make_grpo):
    tree = build_prefix_tree(make_grpo(2, 8, (2048, 8192, 512)))
    assert repr(tree) == "PrefixTree(rows=16, segments=19, decisions=3, tokens=172032)"
