import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import build_prefix_tree, mandatory_candidates, naive, score_layout, select_layout


@given(data=st.data())
def test_agrees_with_the_search_one_proposal_at_a_time(data, row_sets, make_rows, facts_sets, tables):
    rows = make_rows(data.draw(row_sets(most_rows=14)))
    facts, table, budget = data.draw(facts_sets), data.draw(tables), data.draw(st.integers(0, 150))
    plain = naive.bounded_search(naive.prefix_tree([row.tolist() for row in rows]), facts, table, budget)
    found = select_layout(build_prefix_tree(rows), facts, table, refinement_budget=budget)
    assert (*found.score, found.decisions) == plain


@given(data=st.data())
def test_is_never_worse_than_a_mandatory_candidate(data, row_sets, make_rows, facts_sets, tables):
    tree = build_prefix_tree(make_rows(data.draw(row_sets(most_rows=20))))
    facts, table, budget = data.draw(facts_sets), data.draw(tables), data.draw(st.integers(0, 40))
    found = select_layout(tree, facts, table, refinement_budget=budget)
    ranks = [(*score_layout(c.layout, facts, table), c.decisions) for c in mandatory_candidates(tree)]
    assert (*found.score, found.decisions) <= min(ranks)


@given(data=st.data())
def test_finds_the_optimum_of_at_most_six_decisions(data, row_sets, make_rows, facts_sets, tables):
    rows = make_rows(data.draw(row_sets()))
    tree = build_prefix_tree(rows)
    if len(tree.decisions) > 6:
        return
    facts, table = data.draw(facts_sets), data.draw(tables)
    best = naive.exhaustive_search(naive.prefix_tree([row.tolist() for row in rows]), facts, table)
    found = select_layout(tree, facts, table, refinement_budget=2000)
    assert (*found.score, found.decisions) == best


def test_a_negative_budget_is_refused(make_grpo, dense_table):
    tree = build_prefix_tree(make_grpo(2, 2, (10, 10, 10)))
    with pytest.raises(ValueError, match="refinement_budget"):
        select_layout(tree, None, dense_table, refinement_budget=-1)
