import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import TERMS, ScoringFacts, build_prefix_tree, naive, plan_layout, score_layout, select_layout
from planner._decisions import forest_of
from planner._exact import exact_search
from planner._price import compile_price
from planner._tiers import LinearPrice


@pytest.fixture
def through_the_table(monkeypatch):
    """Small trees, too, go through the table."""
    monkeypatch.setattr("planner._exact.FEW_DECISIONS", 0)


@st.composite
def odd_prices(draw):
    """Facts and tables in which floors of token work, tiny segments and levels weigh about the same."""
    facts = ScoringFacts(
        cp_size=draw(st.integers(1, 7)),
        tp_size=draw(st.integers(1, 5)),
        layers=draw(st.integers(1, 3)),
        gdn_layers=draw(st.integers(0, 1)),
        uses_gdn=draw(st.booleans()),
    )
    names = draw(st.sets(st.sampled_from(list(TERMS))))
    sizes = st.integers(0, 3) | st.integers(0, 2000)
    return facts, draw(st.none() | st.fixed_dictionaries({name: sizes for name in sorted(names)}))


def optimum(rows, facts, table):
    return naive.exhaustive_search(naive.prefix_tree([row.tolist() for row in rows]), facts, table)


def found(rows, facts, table):
    tree = build_prefix_tree(rows)
    selection = select_layout(tree, facts, table, search="exact")
    assert selection.score == score_layout(selection.layout, facts, table)
    return (*selection.score, selection.decisions)


@given(data=st.data())
@settings(max_examples=150)
def test_equals_exhaustive_search(data, row_sets, make_rows):
    rows = make_rows(data.draw(row_sets(most_rows=8)))
    facts, table = data.draw(odd_prices())
    assert found(rows, facts, table) == optimum(rows, facts, table)


@pytest.mark.usefixtures("through_the_table")
class TestThroughTheTable:
    @pytest.mark.parametrize("seed", range(60))
    def test_equals_exhaustive_search(self, seed, random_rows, random_price):
        rows = random_rows(seed, most_decisions=8)
        facts, table = random_price(seed)
        assert found(rows, facts, table) == optimum(rows, facts, table)

    def test_a_choice_that_only_the_floors_make_best_is_found(self, make_rows):
        """Sharing a token saves 350,549.3 unfloored and 350,207 floored; its tiny segment costs 350,208."""
        rows = make_rows([[(1, 1), (2, 1000)], [(1, 1), (3, 1000)]])
        table = {"token_per_rank": 1027, "tiny_segment_per_layer": 342}
        assert found(rows, ScoringFacts(cp_size=3), table)[-1] == ()
        assert found(rows, ScoringFacts(cp_size=3), table) == optimum(rows, ScoringFacts(cp_size=3), table)

    def test_integers_past_64_bits(self, random_rows, dense_table):
        facts = ScoringFacts(4, 2, 32, 24, True)
        for seed in range(4):
            rows = random_rows(seed, most_decisions=7)
            table = {name: value * 10**15 for name, value in dense_table.items()}
            assert LinearPrice(compile_price(facts, table)).needs_big_integers(
                forest_of(build_prefix_tree(rows))
            )
            assert found(rows, facts, table) == optimum(rows, facts, table)

    def test_nothing_to_share(self, make_rows, dense_table):
        tree = build_prefix_tree(make_rows([[(1, 10)], [(2, 10)]]))
        assert select_layout(tree, ScoringFacts(), dense_table).decisions == ()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300))
def test_equals_exhaustive_search_on_trees_of_at_most_twelve_decisions(
    seed, random_rows, random_price, monkeypatch
):
    monkeypatch.setattr("planner._exact.FEW_DECISIONS", 0)
    rows = random_rows(seed, most_decisions=12)
    facts, table = random_price(seed)
    tree = build_prefix_tree(rows)
    forest, price = forest_of(tree), compile_price(facts, table)
    # The vectorized measures are held to the plain reference elsewhere; here they make all 4,096 sets quick.
    assert exact_search(forest, price) == least_of_all(forest, price)


def least_of_all(forest, price):
    from planner import _exact

    return _exact._least_of_all(forest, price)


def test_is_never_worse_than_the_golden_selections(golden_cases, make_rows, dense_table):
    better = 0
    for case in golden_cases:
        tree = build_prefix_tree(make_rows(case["rows"]))
        for expected in case["selections"]:
            table = dense_table if expected["version"] == 2 else None
            selection = select_layout(tree, ScoringFacts(*expected["facts"]), table, search="exact")
            best = [*selection.score, list(selection.decisions)]
            golden = [*expected["score"], expected["decisions"]]
            assert best <= golden, case["name"]
            better += best < golden
    assert better == 15


def test_is_the_default_and_a_budget_asks_for_the_bounded_search(make_grpo, dense_table):
    tree = build_prefix_tree(make_grpo(2, 8, (2048, 8192, 512)))
    facts = ScoringFacts(4, 1, 32, 24, True)
    assert select_layout(tree, facts, dense_table).search == "exact"
    assert select_layout(tree, facts, dense_table, refinement_budget=10).search == "bounded"
    assert select_layout(tree, facts, dense_table, search="bounded").search == "bounded"


@pytest.mark.parametrize(
    "wrong", [{"search": "exact", "refinement_budget": 5}, {"search": "best"}, {"refinement_budget": -1}]
)
def test_what_no_search_can_do_is_refused(wrong, make_grpo, dense_table):
    tree = build_prefix_tree(make_grpo(2, 2, (10, 10, 10)))
    with pytest.raises(ValueError, match=r"search|refinement_budget"):
        select_layout(tree, ScoringFacts(), dense_table, **wrong)


@pytest.mark.parametrize("budget", [1.5, "3"])
def test_a_budget_is_an_integer(budget, make_grpo, dense_table):
    tree = build_prefix_tree(make_grpo(2, 2, (10, 10, 10)))
    with pytest.raises(TypeError, match="refinement_budget"):
        select_layout(tree, ScoringFacts(), dense_table, refinement_budget=budget)


def test_a_tree_too_large_for_the_table_is_searched_within_bounds(monkeypatch, make_rows, dense_table):
    monkeypatch.setattr("planner._exact.LARGEST_TABLE", 10)
    tree = build_prefix_tree(make_rows([[(s, 3) for s in range(1, k + 2)] for k in range(9)]))
    assert len(tree.decisions) == 8
    assert select_layout(tree, ScoringFacts(), dense_table).search == "bounded"
    with pytest.raises(ValueError, match="too many for the exact search"):
        select_layout(tree, ScoringFacts(), dense_table, search="exact")


def test_levels_that_cannot_pay_are_left_out_without_harm(make_rows, dense_table):
    """A chain of 40 rows under a price at which a level costs more than all its tokens."""
    rows = make_rows([[(s, 3) for s in range(1, k + 2)] + [(1000 + k, 2)] for k in range(40)])
    facts = ScoringFacts(1, 1, 32, 24, True)
    selection = select_layout(build_prefix_tree(rows), facts, dense_table, search="exact")
    assert (
        selection.score
        <= select_layout(build_prefix_tree(rows), facts, dense_table, refinement_budget=2000).score
    )
    assert selection.layout.max_depth <= 3


def test_equal_trees_pick_the_least_of_equal_layouts(make_rows):
    """Where nothing but tokens is priced, ties of work go by packed tokens, segments, levels, decisions."""
    rows = make_rows([[(1, 5), (2, 5)], [(1, 5), (3, 5)], [(4, 5), (5, 5)], [(4, 5), (6, 5)]])
    tree = build_prefix_tree(rows)
    free = select_layout(tree, ScoringFacts(), {"gdn_level": 1}, search="exact")
    assert free.decisions == tree.decisions
    assert free.score == score_layout(plan_layout(tree, tree.decisions), ScoringFacts(), {"gdn_level": 1})
    assert np.sum([s.length for s in free.layout.segments]) == free.layout.packed_tokens
