from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from planner.memory import ForwardSize, Observation, Pricing, learn_profile
from planner.memory._integers import ceil_div, with_margin
from planner.memory._pricing import ModelFloor
from planner.memory._profile import UNIT

SIZES = st.builds(
    lambda packed, more: ForwardSize(packed, packed + more), st.integers(1, 10**6), st.integers(0, 10**7)
)
OBSERVATIONS = st.builds(
    lambda size, peak, kept: Observation(size, peak, kept % (peak + 1)),
    SIZES,
    st.integers(0, 2**40),
    st.integers(0, 2**40),
)


@given(st.lists(OBSERVATIONS, min_size=1, max_size=6))
def test_what_was_seen_is_never_priced_below_what_it_took(seen):
    profile = learn_profile(seen)
    pricing = Pricing(ModelFloor(), profile)
    for item in seen:
        price = pricing.price(item.size)
        assert price.required_bytes >= with_margin(item.peak_bytes)
        assert price.retained_bytes >= item.retained_bytes


@given(st.lists(OBSERVATIONS, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_observations_does_not_matter(seen, rng):
    shuffled = list(seen)
    rng.shuffle(shuffled)
    assert learn_profile(shuffled) == learn_profile(seen)


@given(st.lists(OBSERVATIONS, min_size=1, max_size=4), OBSERVATIONS)
def test_one_more_observation_still_covers_what_was_seen(seen, more):
    before, after = learn_profile(seen), learn_profile([*seen, more])
    assert after.sharing <= before.sharing
    # A lower sharing ratio prices earlier forwards at more tokens: the rate may fall, the prices may not.
    for item in seen:
        tokens = after.priced_tokens(item.size)
        assert after.peak_bytes(tokens) >= item.peak_bytes


@given(st.lists(OBSERVATIONS, min_size=1, max_size=4))
@example([Observation(ForwardSize(3, 7), 3_000, 3_000)])
def test_no_rate_is_below_the_exact_one_of_a_forward_that_was_seen(seen):
    profile = learn_profile(seen)
    for item in seen:
        tokens = max(item.size.packed_tokens, Fraction(item.size.logical_tokens * UNIT, profile.sharing))
        assert profile.rate >= item.peak_bytes * UNIT / tokens
        assert profile.retained_rate >= item.retained_bytes * UNIT / tokens


def test_a_single_observation_spelled_out():
    profile = learn_profile([Observation(ForwardSize(100, 400), 5_000, 700)])
    assert profile.priced_tokens(ForwardSize(100, 400)) == 100
    assert profile.priced_tokens(ForwardSize(100, 800)) == 200
    assert profile.priced_tokens(ForwardSize(300, 400)) == 300
    assert profile.peak_bytes(200) == 10_000
    assert profile.retained_bytes(200) == 1_400


@pytest.mark.parametrize("sizes", [(0, 0), (2, 1), (-1, 5)])
def test_impossible_sizes_are_refused(sizes):
    with pytest.raises(ValueError, match="packed"):
        ForwardSize(*sizes)
    with pytest.raises(ValueError, match="outputs"):
        ForwardSize(1, 1, -1)


def test_nothing_is_learned_from_nothing():
    with pytest.raises(ValueError, match="at least one"):
        learn_profile([])


def test_more_retained_than_the_peak_is_refused():
    with pytest.raises(ValueError, match="peak"):
        Observation(ForwardSize(1, 1), 5, 6)


@given(st.integers(0, 2**70), st.integers(1, 2**40))
def test_division_rounds_up(number, divisor):
    quotient = ceil_div(number, divisor)
    assert (quotient - 1) * divisor < number <= quotient * divisor


@given(st.integers(0, 2**70))
def test_the_margin_is_a_tenth_rounded_up(count):
    assert 0 <= 10 * with_margin(count) - 11 * count < 10
