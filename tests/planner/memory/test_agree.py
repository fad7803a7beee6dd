import random
from dataclasses import replace

from planner.memory import ForwardSize, Pricing, agree


def reduced(everyone):
    """Run `agree` on every rank of a group, in lock step."""
    asked = []

    def first(values, how):
        asked.append((list(values), how))
        return list(values)

    calls = []
    for pricing, limit in everyone:
        asked.clear()
        agree(pricing, limit, first)
        calls.append(list(asked))
    # A rank that made another sequence of collectives would hang the group.
    shapes = [[(len(values), how) for values, how in rank] for rank in calls]
    assert shapes == [shapes[0]] * len(shapes)
    results = []
    for pricing, limit in everyone:
        turn = iter(range(len(calls[0])))

        def reduce(values, how, turn=turn):
            at = next(turn)
            return [
                {"max": max, "min": min}[how](column)
                for column in zip(*(rank[at][0] for rank in calls), strict=True)
            ]

        results.append(agree(pricing, limit, reduce))
    return results


def test_all_ranks_get_the_same_and_none_gets_more_than_it_had(draw_pricing):
    rng = random.Random(21)
    learned = 0
    for _ in range(300):
        floor = draw_pricing(rng).floor
        everyone = [
            (replace(draw_pricing(rng), floor=floor, grad=True), rng.randint(0, 10**9)) for _ in range(3)
        ]
        results = reduced(everyone)
        assert results == [results[0]] * 3
        agreed, limit = results[0]
        assert limit == min(own for _, own in everyone)
        if agreed.profile is None:
            assert any(pricing.profile is None for pricing, _ in everyone)
            continue
        learned += 1
        for pricing, _ in everyone:
            for _ in range(10):
                packed = rng.randint(1, 20_000)
                size = ForwardSize(packed, packed * rng.randint(1, 9))
                assert agreed.required_bytes(size) >= pricing.required_bytes(size)
                assert agreed.may_widen(size) <= pricing.may_widen(size)
                assert agreed.trusts_retained(size) <= pricing.trusts_retained(size)
    assert learned > 50


def test_a_single_rank_agrees_with_itself(plain_pricing):
    assert agree(plain_pricing, 7, lambda values, how: values) == (plain_pricing, 7)


def test_one_rank_without_a_profile_leaves_all_without(plain_pricing):
    cold = Pricing(plain_pricing.floor)
    assert reduced([(plain_pricing, 5), (cold, 9)]) == [(cold, 5)] * 2
