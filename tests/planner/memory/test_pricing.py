import random
from dataclasses import replace

import pytest

from planner.memory import (
    ExpertFacts,
    ForwardSize,
    ModelFloor,
    Observation,
    Price,
    Pricing,
    combined_bytes,
    fc2_floor_bytes,
    learn_profile,
    observed_path_bytes,
)

BOUNDARIES = (1, 8, 10, 63, 64, 65, 800)
SHARING = (1, 3, 8)


def test_cold_the_largest_layer_is_charged_and_a_tenth(exact_experts):
    pricing = Pricing(ModelFloor(experts=(exact_experts,)))
    required = -(-8_663_556_096 * 11 // 10)
    assert pricing.required_bytes(ForwardSize(45_981, 45_981)) == required
    assert pricing.price(ForwardSize(45_981, 45_981)) == Price(required, required)


def test_outputs_are_charged_where_they_are_more_than_any_layer():
    pricing = Pricing(ModelFloor(other_layers=(10,), output_bytes=4))
    assert pricing.required_bytes(ForwardSize(100, 100, 100)) == 1100
    assert pricing.required_bytes(ForwardSize(100, 100, 1000)) == 4400


def test_ranks_that_share_the_tokens_hold_their_share():
    pricing = Pricing(ModelFloor(other_layers=(10,), token_ranks=4))
    assert pricing.required_bytes(ForwardSize(40, 40)) == 110
    assert pricing.required_bytes(ForwardSize(41, 41)) == 121


def test_the_larger_of_floor_and_learned_rate_is_charged(observed):
    profile = observed(100, 400, 5_000, 0)
    assert Pricing(ModelFloor(other_layers=(60,)), profile).required_bytes(ForwardSize(100, 400)) == 6_600
    assert Pricing(ModelFloor(other_layers=(40,)), profile).required_bytes(ForwardSize(100, 400)) == 5_500
    # 800 logical tokens at a sharing ratio of 4 are charged as 200.
    assert Pricing(ModelFloor(), profile).required_bytes(ForwardSize(100, 800)) == 11_000


@pytest.mark.parametrize("sharing", SHARING)
@pytest.mark.parametrize("seen", BOUNDARIES)
def test_one_token_more_never_turns_a_refusal_into_an_admission(seen, sharing, observed):
    pricing = Pricing(ModelFloor(other_layers=(20,)), observed(seen, seen * sharing, seen * 1000, seen * 100))
    edge = 8 * seen
    around = [*range(max(1, edge - 3), edge + 4), 2 * seen, 2 * seen + 1]
    for tokens in around:
        fewer = ForwardSize(tokens, tokens * sharing)
        more = ForwardSize(tokens + 1, (tokens + 1) * sharing)
        assert pricing.required_bytes(more) >= pricing.required_bytes(fewer)
        assert pricing.price(more).retained_bytes >= pricing.price(fewer).retained_bytes
    assert pricing.may_widen(ForwardSize(edge, edge * sharing))
    assert not pricing.may_widen(ForwardSize(edge + 1, (edge + 1) * sharing))


@pytest.mark.parametrize("sharing", SHARING)
@pytest.mark.parametrize("edge", (8, 63, 64, 65, 800))
def test_nor_around_these_sizes(edge, sharing, observed):
    seen = -(-edge // 8)
    pricing = Pricing(ModelFloor(other_layers=(20,)), observed(seen, seen * sharing, 10**6, 0))
    prices = [
        pricing.required_bytes(ForwardSize(tokens, tokens * sharing))
        for tokens in range(max(1, edge - 4), edge + 12)
    ]
    assert prices == sorted(prices)


def test_eighty_tokens_and_eighty_one(observed):
    pricing = Pricing(ModelFloor(other_layers=(20,)), observed(10, 10, 10_000, 1_000))
    assert pricing.required_bytes(ForwardSize(80, 80)) == 88_000
    assert pricing.required_bytes(ForwardSize(81, 81)) == 89_100


def test_formula_one_had_the_fall_that_formula_two_has_not(observed):
    """What the tests above would see if the learned rate stopped at the window again."""
    old = Pricing(ModelFloor(other_layers=(20,)), observed(10, 10, 10_000, 1_000), formula=1)
    assert old.required_bytes(ForwardSize(80, 80)) == 88_000
    assert old.required_bytes(ForwardSize(81, 81)) == 81 * 22


def test_formula_one_knew_only_the_smaller_expert_floor(exact_experts):
    floor = ModelFloor(experts=(exact_experts,))
    assert floor.bytes_per_token(1) == fc2_floor_bytes(exact_experts)
    assert floor.bytes_per_token(2) == floor.bytes_per_token() == observed_path_bytes(exact_experts)


def test_the_two_trust_gates_are_separate(observed):
    pricing = Pricing(ModelFloor(), observed(100, 400, 100_000, 10_000))
    # Inside the window and far from what was seen: the plan may widen, what it retains is charged in full.
    inside = ForwardSize(700, 2800)
    assert pricing.may_widen(inside) and not pricing.trusts_retained(inside)
    assert pricing.price(inside).retained_bytes == pricing.required_bytes(inside)
    near = ForwardSize(200, 800)
    assert pricing.may_widen(near) and pricing.trusts_retained(near)
    assert pricing.price(near).retained_bytes == 22_000
    outside = ForwardSize(801, 3204)
    assert not pricing.may_widen(outside) and not pricing.trusts_retained(outside)


def test_retained_memory_is_trusted_near_the_observed_size_and_sharing_ratio(observed):
    pricing = Pricing(ModelFloor(), observed(100, 400, 100_000, 10_000))
    assert pricing.trusts_retained(ForwardSize(200, 1000))
    assert not pricing.trusts_retained(ForwardSize(201, 800))
    assert not pricing.trusts_retained(ForwardSize(200, 1001))
    far = pricing.price(ForwardSize(200, 1001))
    assert far.retained_bytes == far.required_bytes


def test_a_small_forward_retains_at_least_what_half_the_observed_one_does(observed):
    pricing = Pricing(ModelFloor(), observed(100, 100, 100_000, 10_000))
    assert pricing.price(ForwardSize(20, 20)).retained_bytes == 5_500
    assert pricing.price(ForwardSize(1, 1)) == Price(1_100, 1_100)


def test_outputs_are_retained():
    seen = Observation(ForwardSize(100, 100, 100), 100_000, 1_000)
    pricing = Pricing(ModelFloor(output_bytes=50), learn_profile([seen]))
    assert pricing.price(ForwardSize(100, 100, 100)).retained_bytes == 5_500


def test_without_a_backward_the_outputs_alone_are_retained(observed):
    floor = ModelFloor(other_layers=(50,), output_bytes=4)
    for profile in (None, observed(100, 100, 100_000, 90_000)):
        price = Pricing(floor, profile, grad=False).price(ForwardSize(100, 100, 100))
        assert price.retained_bytes == 440 < price.required_bytes


def test_without_a_profile_nothing_is_trusted():
    pricing = Pricing(ModelFloor(other_layers=(5,)))
    assert not pricing.may_widen(ForwardSize(1, 1))
    assert not pricing.trusts_retained(ForwardSize(1, 1))


def test_subforwards_keep_what_they_retain():
    prices = [Price(100, 30), Price(80, 40), Price(50, 5)]
    # By hand: each runs on top of what those before it keep, in whichever order they come.
    assert combined_bytes(prices) == 75 + 70
    assert combined_bytes([Price(100, 30)]) == 100
    assert combined_bytes([]) == 0


def _larger(rng, size):
    more = [rng.choice([0, 1, rng.randint(0, 10_000)]) for _ in range(3)]
    packed = size.packed_tokens + more[0]
    return ForwardSize(packed, max(packed, size.logical_tokens + more[1]), size.outputs + more[2])


def _check_estimates(count, draw_pricing):
    rng = random.Random(20261130)
    for _ in range(count // 100):
        pricing = draw_pricing(rng)
        deeper = replace(
            pricing,
            floor=replace(
                pricing.floor,
                experts=(*pricing.floor.experts, ExpertFacts(rng.randint(1, 4), 16, 8, 2)),
                other_layers=(*pricing.floor.other_layers, rng.randint(0, 5000)),
            ),
        )
        for _ in range(100):
            packed = rng.randint(1, rng.choice([20, 1000, 100_000]))
            size = ForwardSize(packed, packed + rng.randint(0, 7 * packed), rng.randint(0, packed))
            price, grown = pricing.price(size), pricing.price(_larger(rng, size))
            assert type(price.required_bytes) is int and type(price.retained_bytes) is int
            assert price.required_bytes <= grown.required_bytes
            assert price.retained_bytes <= grown.retained_bytes
            assert price.retained_bytes <= price.required_bytes <= deeper.required_bytes(size)


def test_estimates_never_fall_over_sampled_layouts(draw_pricing):
    _check_estimates(20_000, draw_pricing)


@pytest.mark.slow(seconds=120)
def test_estimates_never_fall_over_four_hundred_thousand_layouts(draw_pricing):
    _check_estimates(400_000, draw_pricing)
