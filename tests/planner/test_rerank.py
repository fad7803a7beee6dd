import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import (
    ScoringFacts,
    build_prefix_tree,
    naive,
    plan_layout,
    rerank_layouts,
    select_layout,
    shortlist_layouts,
)

FACTS = ScoringFacts(4, 1, 32, 24, True)


@pytest.fixture
def tree(make_grpo):
    return build_prefix_tree(make_grpo(2, 8, (2048, 8192, 512)))


@given(data=st.data())
def test_a_shortlist_of_a_small_tree_is_its_cheapest_layouts(data, random_rows, facts_sets, tables):
    rows = random_rows(data.draw(st.integers(0, 200)), most_decisions=5)
    facts, table, count = data.draw(facts_sets), data.draw(tables), data.draw(st.integers(1, 9))
    plain = naive.prefix_tree([row.tolist() for row in rows])
    ranks = sorted(map(naive.ranker(plain, facts, table), naive.all_sets(plain.decisions)))
    found = shortlist_layouts(build_prefix_tree(rows), facts, table, count=count)
    assert [(*item.score, item.decisions) for item in found] == ranks[:count]


def test_the_least_price_is_picked_and_the_incumbent_priced_first(tree, dense_table):
    asked = []

    def price(layout):
        asked.append(layout.decisions)
        return 100 - len(layout.decisions)

    found = rerank_layouts(tree, FACTS, dense_table, price, count=4)
    assert found.picked.layout.decisions == tree.decisions
    assert asked[0] == select_layout(tree, FACTS, dense_table).decisions
    assert [item.incumbent for item in found.priced] == [True, False, False, False]
    assert len(set(asked)) == len(asked) == 4


def test_equal_prices_leave_the_incumbent(tree, dense_table):
    incumbent = plan_layout(tree, [tree.decisions[0]])
    found = rerank_layouts(tree, FACTS, dense_table, lambda layout: 1.0, count=3, incumbent=incumbent)
    assert found.picked.layout == incumbent
    assert len(found.priced) == 4


def test_an_incumbent_on_the_shortlist_is_priced_once(tree, dense_table):
    incumbent = shortlist_layouts(tree, FACTS, dense_table, count=3)[2].layout
    found = rerank_layouts(tree, FACTS, dense_table, lambda layout: 1.0, count=3, incumbent=incumbent)
    assert len(found.priced) == 3


@pytest.mark.parametrize("price", [float("nan"), float("inf"), -1.0, True, "1", None])
def test_a_price_that_is_no_finite_number_is_refused(tree, dense_table, price):
    with pytest.raises(ValueError, match="price must be a finite number"):
        rerank_layouts(tree, FACTS, dense_table, lambda layout: price)


def test_an_incumbent_of_another_tree_is_refused(tree, dense_table, make_grpo):
    other = plan_layout(build_prefix_tree(make_grpo(2, 2, (9, 9, 9))), [])
    with pytest.raises(ValueError, match="another tree"):
        rerank_layouts(tree, FACTS, dense_table, lambda layout: 1.0, incumbent=other)


def test_an_empty_shortlist_is_refused(tree, dense_table):
    with pytest.raises(ValueError, match="count"):
        shortlist_layouts(tree, FACTS, dense_table, count=0)
