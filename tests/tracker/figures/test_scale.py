"""Axes keep order and ends, and their ticks are round and do not run into each other."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.figures._scale import Scale, short

bends = st.sampled_from([None, 0.5, 1.0, 10.0])
values = st.floats(-1e6, 1e6)


@given(low=st.floats(-1e6, 0), high=st.floats(0.5, 1e7), bend=bends, pair=st.tuples(values, values))
def test_a_greater_value_lies_further_along_and_none_outside(low, high, bend, pair):
    scale = Scale(low, high, 100, 400, bend)
    less, more = sorted(pair)
    assert 100 <= scale(less) <= scale(more) <= 400
    assert scale(low) == pytest.approx(100) and scale(high) == pytest.approx(400)


@given(low=st.floats(-1e4, 0), high=st.floats(0.5, 1e7), bend=bends)
def test_ticks_lie_within_apart_and_zero_is_one(low, high, bend):
    scale = Scale(low, high, 0, 500, bend)
    ticks = scale.ticks(30)
    assert ticks == sorted(ticks) and all(low <= tick <= high for tick in ticks)
    assert 0 in ticks
    gaps = [scale(b) - scale(a) for a, b in pairwise(ticks)]
    assert all(gap >= 29 for gap in gaps)


def test_values_outside_are_drawn_at_the_ends():
    scale = Scale(0, 10, 50, 150)
    assert (scale(-5), scale(5), scale(20)) == (50, 100, 150)


def test_ticks_are_short():
    assert [short(value) for value in (0, 0.5, -20, 5000, 2e6)] == ["0", "0.5", "\u221220", "5k", "2M"]
