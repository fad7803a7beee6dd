import random

import pytest

from planner import ScoringFacts, build_prefix_tree
from planner.memory import (
    ForwardSize,
    LayoutChoice,
    MemoryBudgetError,
    ModelFloor,
    Observation,
    Pricing,
    TreeOrder,
    learn_profile,
    widest_forward,
)


def naive_width(rows, pricing, limit, at_least=1):
    """One width after another, until one does not do."""
    order = TreeOrder(build_prefix_tree(rows))
    width = at_least
    while width < len(order):
        size = order.size((0, width + 1))
        if not pricing.may_widen(size) or pricing.required_bytes(size) > limit:
            break
        width += 1
    return width


def test_bisection_finds_what_trying_each_finds(draw_pricing, draw_pieces, make_rows):
    rng = random.Random(9)
    widths = set()
    for _ in range(200):
        rows, pricing = make_rows(draw_pieces(rng)), draw_pricing(rng)
        limit = rng.randint(0, pricing.required_bytes(ForwardSize(300, 300)))
        try:
            found = widest_forward(rows, pricing, limit)
        except MemoryBudgetError as error:
            order = TreeOrder(build_prefix_tree(rows))
            assert error.predicted_peak_bytes == pricing.required_bytes(order.size((0, 1))) > limit
            continue
        assert found == naive_width(rows, pricing, limit)
        widths.add(found)
    assert len(widths) > 4


def test_cost_optimal_feasibility_is_not_monotone_in_the_width(make_rows):
    """Two rows replay their prefix; three share it: the wider forward is the smaller one."""
    rows = make_rows([[(1, 700), (2 + row, 20)] for row in range(3)])
    choice = LayoutChoice(ScoringFacts(1, 1, 32, 24, True))
    pricing = Pricing(ModelFloor(other_layers=(10,)))
    tree = build_prefix_tree(rows[:2])
    sizes = []
    for width in (1, 2, 3):
        tree = build_prefix_tree(rows[:width])
        sizes.append(ForwardSize(choice.select(tree).packed_tokens, tree.token_count))
    assert [size.packed_tokens for size in sizes] == [720, 1440, 760]
    limit = pricing.required_bytes(ForwardSize(800, 2160))
    assert [pricing.required_bytes(size) <= limit for size in sizes] == [True, False, True]


def test_the_memory_minimal_width_takes_the_rows_that_a_cost_optimal_one_would_miss(make_rows):
    rows = make_rows([[(1, 700), (2 + row, 20)] for row in range(3)])
    seen = learn_profile([Observation(ForwardSize(700, 2100), 7_000, 0)])
    pricing = Pricing(ModelFloor(), seen)
    assert widest_forward(rows, pricing, pricing.required_bytes(ForwardSize(800, 2160))) == 3


def test_a_plan_widens_no_further_than_eight_times_what_was_seen(flat_rows, observed):
    rows = flat_rows(*[10] * 20)
    pricing = Pricing(ModelFloor(), observed(10, 10, 100, 0))
    assert widest_forward(rows, pricing, 10**9) == 8
    # What the caller needs is priced all the same.
    assert widest_forward(rows, pricing, 10**9, at_least=12) == 12


def test_without_a_profile_a_plan_does_not_widen(flat_rows):
    pricing = Pricing(ModelFloor(other_layers=(1,)))
    assert widest_forward(flat_rows(5, 5, 5), pricing, 10**9) == 1
    assert widest_forward(flat_rows(5, 5, 5), pricing, 10**9, at_least=2) == 2


@pytest.mark.parametrize("at_least", [0, 4])
def test_an_impossible_width_is_refused(flat_rows, plain_pricing, at_least):
    with pytest.raises(ValueError, match="at_least"):
        widest_forward(flat_rows(5, 5, 5), plain_pricing, 1, at_least=at_least)
