import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import (
    build_prefix_tree,
    layout_features,
    naive,
    plan_layout,
    score_features,
    score_layout,
    score_layouts,
)


def drawn_sets(data, decisions):
    return data.draw(
        st.lists(st.sets(st.sampled_from(decisions)) if decisions else st.just(set()), max_size=4)
    )


@given(data=st.data())
def test_features_agree_with_the_listed_segments(data, row_sets, make_rows):
    rows = make_rows(data.draw(row_sets()))
    tree, plain = build_prefix_tree(rows), naive.prefix_tree([row.tolist() for row in rows])
    for decisions in drawn_sets(data, tree.decisions):
        assert layout_features(tree, decisions) == naive.layout_features(plain, decisions)


@given(data=st.data())
def test_segments_compute_every_rows_tokens_exactly_once(data, row_sets, make_rows):
    rows = make_rows(data.draw(row_sets()))
    tree = build_prefix_tree(rows)
    for decisions in drawn_sets(data, tree.decisions):
        layout = plan_layout(tree, decisions)
        pieces, levels = naive.segment_lengths(naive.prefix_tree([row.tolist() for row in rows]), decisions)
        assert [segment.length for segment in layout.segments] == pieces
        assert max(segment.level for segment in layout.segments) == levels == layout.max_depth
        for row, tokens in enumerate(rows):
            path = sorted((s for s in layout.segments if row in s.rows), key=lambda s: s.start)
            assert [s.start for s in path] == [0, *(s.end for s in path)][:-1]
            assert path[-1].end == len(tokens)


@given(data=st.data())
def test_score_is_the_score_of_its_features(data, row_sets, make_rows, facts_sets, tables):
    tree = build_prefix_tree(make_rows(data.draw(row_sets())))
    facts, table = data.draw(facts_sets), data.draw(tables)
    for decisions in drawn_sets(data, tree.decisions):
        layout = plan_layout(tree, decisions)
        expected = score_features(layout.features, facts, table, shared_decisions=len(decisions))
        assert score_layout(layout, facts, table) == expected


def test_parents_precede_their_children(make_grpo):
    tree = build_prefix_tree(make_grpo(2, 2, (10, 10, 10)))
    layout = plan_layout(tree, tree.decisions)
    assert [s.parent for s in layout.segments] == [None, 0, 0, 1, 1, 2, 2]
    assert [s.rows for s in layout.segments] == [(0, 1, 2, 3), (0, 1), (2, 3), (0,), (1,), (2,), (3,)]
    assert (layout.packed_tokens, layout.segment_count, layout.max_depth) == (70, 7, 3)


def test_order_and_repetition_of_decisions_do_not_matter(make_grpo):
    tree = build_prefix_tree(make_grpo(2, 2, (10, 10, 10)))
    assert plan_layout(tree, [4, 0, 4]) == plan_layout(tree, (0, 4))
    assert plan_layout(tree, [4, 0, 4]).decisions == (0, 4)


@pytest.mark.parametrize("wrong", [2, -1, 99])
def test_a_segment_that_is_no_decision_is_refused(wrong, make_grpo):
    tree = build_prefix_tree(make_grpo(2, 2, (10, 10, 10)))
    assert wrong not in tree.decisions
    with pytest.raises(ValueError, match=f"segment {wrong} is no decision"):
        plan_layout(tree, [wrong])


@given(data=st.data())
def test_many_layouts_score_as_one_by_one(data, row_sets, make_rows, facts_sets, tables):
    tree = build_prefix_tree(make_rows(data.draw(row_sets())))
    facts, table, sets = data.draw(facts_sets), data.draw(tables), drawn_sets(data, tree.decisions)
    expected = [score_layout(plan_layout(tree, decisions), facts, table) for decisions in sets]
    assert score_layouts(tree, sets, facts, table) == expected


def test_features_of_a_layout_and_of_a_set_agree(make_grpo):
    tree = build_prefix_tree(make_grpo(2, 2, (10, 10, 10)))
    assert layout_features(plan_layout(tree, [0])) == layout_features(tree, [0])
