import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import build_prefix_tree, plan_layout
from planner.memory import TreeOrder, combined_bytes, cut, ladder, lower_bound_bytes
from planner.memory._admission import rung_prices


def test_the_rungs():
    assert list(ladder(1)) == [1]
    assert list(ladder(2)) == [1, 2]
    assert list(ladder(3)) == [1, 2, 3]
    assert list(ladder(4)) == [1, 2, 3, 4]
    assert list(ladder(100)) == [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 100]


@given(st.integers(1, 5000))
def test_rungs_ascend_from_one_forward_to_one_a_row(rows):
    rungs = list(ladder(rows))
    assert rungs == sorted(set(rungs))
    assert (rungs[0], rungs[-1]) == (1, rows)


@given(st.integers(1, 300), st.data())
def test_a_cut_covers_every_row_once_in_nearly_equal_runs(rows, data):
    runs = cut(rows, data.draw(st.integers(1, rows)))
    assert [row for first, last in runs for row in range(first, last)] == list(range(rows))
    sizes = [last - first for first, last in runs]
    assert sizes == sorted(sizes, reverse=True) and max(sizes) - min(sizes) <= 1


def test_every_run_has_the_size_of_its_own_fully_shared_layout(draw_pieces, make_rows):
    rng = random.Random(5)
    for _ in range(60):
        rows = make_rows(draw_pieces(rng))
        outputs = [rng.randint(0, 3) for _ in rows]
        order = TreeOrder(build_prefix_tree(rows), outputs)
        assert sorted(order.rows) == list(range(len(rows)))
        for first in range(len(rows)):
            for last in range(first + 1, len(rows) + 1):
                chosen = order.rows[first:last]
                tree = build_prefix_tree([rows[row] for row in chosen])
                size = order.size((first, last))
                assert size.packed_tokens == plan_layout(tree, tree.decisions).packed_tokens
                assert size.logical_tokens == tree.token_count
                assert size.outputs == sum(outputs[row] for row in chosen)


def test_rows_with_a_common_prefix_lie_together(make_rows):
    rows = make_rows([[(1, 5), (2, 3)], [(9, 4)], [(1, 5), (3, 3)], [(9, 4), (4, 1)]])
    assert TreeOrder(build_prefix_tree(rows)).rows == [0, 2, 1, 3]


def test_outputs_for_another_number_of_rows_are_refused(flat_rows):
    with pytest.raises(ValueError, match="has 2"):
        TreeOrder(build_prefix_tree(flat_rows(3, 4)), [1])


def _check_bounds(count, draw_pricing, draw_pieces, make_rows):
    rng = random.Random(77)
    checked = met = 0
    while checked < count:
        rows = make_rows(draw_pieces(rng, most_rows=16))
        order = TreeOrder(build_prefix_tree(rows), [rng.randint(0, 5) for _ in rows])
        for _ in range(20):
            pricing = draw_pricing(rng)
            for rung in ladder(len(order)):
                bound = lower_bound_bytes(order, rung, pricing)
                exact = combined_bytes(rung_prices(order, rung, pricing))
                assert bound <= exact
                checked += 1
                met += bound == exact
    # A bound that never meets its price would reject nothing.
    assert met > count // 20


def test_no_lower_bound_is_above_the_exact_price(draw_pricing, draw_pieces, make_rows):
    _check_bounds(10_000, draw_pricing, draw_pieces, make_rows)


@pytest.mark.slow(seconds=120)
def test_no_lower_bound_is_above_the_exact_price_of_four_hundred_thousand_layouts(
    draw_pricing, draw_pieces, make_rows
):
    _check_bounds(400_000, draw_pricing, draw_pieces, make_rows)
