import random

import numpy as np
import pytest

from planner import ScoringFacts, build_prefix_tree
from planner.memory import (
    ForwardSize,
    LayoutChoice,
    MemoryBudgetError,
    ModelFloor,
    Observation,
    Pricing,
    admit,
    combined_bytes,
    learn_profile,
)
from planner.memory._admission import rung_prices
from planner.memory._ladder import TreeOrder, cut, ladder
from schemas import LayoutLedgerError


def naive_admission(rows, pricing, limit):
    """Every rung priced in full, no bound: the number of subforwards, or the least peak of all."""
    order = TreeOrder(build_prefix_tree(rows))
    least = None
    for count in ladder(len(rows)):
        required = combined_bytes([pricing.price(order.size(run)) for run in cut(len(rows), count)])
        if required <= limit:
            return count, required
        least = required if least is None else min(least, required)
    return None, least


@pytest.mark.parametrize("sharing", (1, 3, 8))
@pytest.mark.parametrize("edge", (8, 63, 64, 65, 80, 800))
def test_a_refused_batch_is_refused_with_one_token_more(edge, sharing, hand_set_choice):
    """Equal rows share all that they have; the window of what was seen ends at the edge or shortly after."""
    seen = -(-edge // 8)
    profile = learn_profile([Observation(ForwardSize(seen, seen * sharing), seen * 1000, seen * 100)])
    pricing = Pricing(ModelFloor(other_layers=(20,)), profile)
    for tokens in (edge, 8 * seen):
        for limit in (tokens * 22, tokens * 1000, tokens * 1100 - 1):
            for grown in (tokens, tokens + 1):
                with pytest.raises(MemoryBudgetError):
                    admit([np.arange(grown)] * sharing, pricing, limit, hand_set_choice)
        assert admit([np.arange(tokens)] * sharing, pricing, tokens * 1100, hand_set_choice)


def test_a_batch_that_fits_runs_whole(flat_rows, plain_pricing, hand_set_choice):
    found = admit(flat_rows(4, 3, 5), plain_pricing, 20_000, hand_set_choice)
    assert len(found.subforwards) == 1
    assert found.subforwards[0].rows == (0, 1, 2)
    assert found.required_bytes == 13_200 <= found.usable_limit_bytes
    assert [rung.subforwards for rung in found.rungs] == [1]


def test_a_batch_that_does_not_is_split_into_the_fewest_that_do(flat_rows, plain_pricing, hand_set_choice):
    rows = flat_rows(10, 10, 10, 10)
    found = admit(rows, plain_pricing, 26_000, hand_set_choice)
    # By hand: 2 of 20 tokens retain 2,200 each and need 22,000.
    assert [part.rows for part in found.subforwards] == [(0, 1), (2, 3)]
    assert found.required_bytes == 2 * 2_200 + 22_000 - 2_200 == 24_200
    assert [(rung.subforwards, rung.required_bytes) for rung in found.rungs] == [(1, None), (2, 24_200)]


def test_a_bound_rejects_a_rung_before_it_is_planned(flat_rows, plain_pricing, hand_set_choice):
    planned = []

    class Watching(LayoutChoice):
        def select(self, tree):
            planned.append(tree.row_count)
            return super().select(tree)

    choice = Watching(hand_set_choice.facts)
    found = admit(flat_rows(10, 10, 10, 10), plain_pricing, 15_000, choice)
    assert [rung.required_bytes is None for rung in found.rungs] == [True, True, True, False]
    assert planned == [1, 1, 1, 1]


def test_the_same_budget_needs_four_subforwards_after_the_fix_and_two_before(
    exact_experts, flat_rows, hand_set_choice
):
    """The known case, log-probabilities without a backward, nothing observed yet, 2.75 GB usable."""
    rows = flat_rows(*[3834] * 3, *[3831] * 9)
    assert sum(map(len, rows)) == 45_981
    floor = ModelFloor(experts=(exact_experts,), output_bytes=4)
    found = {
        formula: admit(
            rows,
            Pricing(floor, grad=False, formula=formula),
            2_750_000_000,
            hand_set_choice,
            outputs=[len(row) for row in rows],
        )
        for formula in (1, 2)
    }
    assert [len(found[formula].subforwards) for formula in (1, 2)] == [2, 4]
    # What two subforwards really hold, by the seven buffers: the crash that the old price let through.
    largest = max(part.size.packed_tokens for part in found[1].subforwards)
    assert largest * 188_416 > 2_750_000_000
    largest = max(part.size.packed_tokens for part in found[2].subforwards)
    assert largest * 188_416 < found[2].required_bytes <= 2_750_000_000


def test_nothing_fits_and_nothing_is_planned(flat_rows, plain_pricing):
    class Never(LayoutChoice):
        def select(self, tree):
            raise AssertionError("planned")

    with pytest.raises(MemoryBudgetError) as caught:
        admit(flat_rows(10, 10, 12), plain_pricing, 13_000, Never(None))
    error = caught.value
    assert isinstance(error, LayoutLedgerError) and isinstance(error, MemoryError)
    assert error.usable_limit_bytes == 13_000
    # By hand, one row each: 1,100 + 1,100 + 13,200, the row of 12 in any place.
    assert error.predicted_peak_bytes == 15_400
    assert "Row 2 has 12 tokens" in error.suggestion
    assert "15,400" in str(error) and "13,000" in str(error) and "nothing ran" in str(error)


def test_the_suggestion_names_what_would_fit(flat_rows, plain_pricing, hand_set_choice):
    rows = flat_rows(10, 10, 12)
    with pytest.raises(MemoryBudgetError) as caught:
        admit(rows, plain_pricing, 15_000, hand_set_choice)
    assert "raise the limit" in caught.value.suggestion
    found = admit(rows, plain_pricing, caught.value.predicted_peak_bytes, hand_set_choice)
    assert found.required_bytes == caught.value.predicted_peak_bytes


def test_without_trust_splitting_does_not_help_and_the_suggestion_says_why(flat_rows, hand_set_choice):
    cold = Pricing(ModelFloor(other_layers=(1000,)))
    with pytest.raises(MemoryBudgetError, match="charged in full"):
        admit(flat_rows(10, 10), cold, 21_000, hand_set_choice)


def test_it_is_the_naive_admission(draw_pricing, draw_pieces, make_rows, hand_set_choice):
    rng = random.Random(3)
    seen = {"whole": 0, "split": 0, "refused": 0}
    for _ in range(150):
        rows, pricing = make_rows(draw_pieces(rng)), draw_pricing(rng)
        whole = pricing.required_bytes(TreeOrder(build_prefix_tree(rows)).size((0, len(rows))))
        limit = rng.randint(whole // 3, whole * 6 // 5)
        count, required = naive_admission(rows, pricing, limit)
        try:
            found = admit(rows, pricing, limit, hand_set_choice)
        except MemoryBudgetError as error:
            assert (count, required) == (None, error.predicted_peak_bytes)
            seen["refused"] += 1
            continue
        assert len(found.subforwards) == count
        assert found.rungs[-1].required_bytes == required
        assert found.required_bytes <= limit
        assert sorted(row for part in found.subforwards for row in part.rows) == list(range(len(rows)))
        seen["whole" if count == 1 else "split"] += 1
    assert min(seen.values()) > 5, seen


def test_growing_a_batch_in_place_never_turns_a_refusal_into_an_admission(
    draw_pricing, draw_pieces, make_rows, hand_set_choice
):
    rng = random.Random(11)
    refused = 0
    for _ in range(150):
        pieces, pricing = draw_pieces(rng), draw_pricing(rng)
        grown_piece = rng.choice([segment for row in pieces for segment, _ in row])
        more = rng.choice([1, rng.randint(1, 50)])
        grown = [
            [(segment, length + more * (segment == grown_piece)) for segment, length in row] for row in pieces
        ]
        least = [_least_peak(make_rows(batch), pricing) for batch in (pieces, grown)]
        assert least[0] <= least[1]
        refused += least[0] < least[1]
    assert refused > 50


def _least_peak(rows, pricing):
    order = TreeOrder(build_prefix_tree(rows))
    return min(combined_bytes(rung_prices(order, count, pricing)) for count in ladder(len(order)))


def test_the_cheaper_layout_runs_where_it_fits_and_the_smaller_where_it_does_not(make_grpo):
    """Version 1 charges levels of a GDN model, so a short prefix is cheaper replayed."""
    rows = make_grpo(2, 2, (16, 4, 30))
    choice = LayoutChoice(scoring_of_a_deep_model())
    tree = build_prefix_tree(rows)
    cheaper = choice.select(tree)
    assert cheaper.packed_tokens > TreeOrder(tree).size((0, 4)).packed_tokens
    pricing = Pricing(ModelFloor(other_layers=(100,)))
    wide = pricing.required_bytes(ForwardSize(cheaper.packed_tokens, tree.token_count))
    roomy, tight = (admit(rows, pricing, limit, choice).subforwards for limit in (wide, wide - 1))
    assert [part.memory_minimal for part in roomy] == [False]
    assert roomy[0].layout.decisions == cheaper.decisions
    assert [part.memory_minimal for part in tight] == [True]
    assert tight[0].layout.decisions == tight[0].layout.tree.decisions
    assert tight[0].size.packed_tokens == tight[0].layout.packed_tokens


def scoring_of_a_deep_model():
    return ScoringFacts(1, 1, 32, 24, True)


def test_a_mixture_of_layouts_still_fits(make_grpo):
    rows, choice = make_grpo(4, 4, (900, 8, 40)), LayoutChoice(scoring_of_a_deep_model())
    profile = learn_profile([Observation(ForwardSize(1300, 9000), 130_000, 26_000)])
    pricing = Pricing(ModelFloor(), profile)
    mixed = 0
    for limit in range(160_000, 175_000, 250):
        try:
            found = admit(rows, pricing, limit, choice)
        except MemoryBudgetError:
            continue
        assert found.required_bytes == combined_bytes([part.price for part in found.subforwards]) <= limit
        mixed += len({part.memory_minimal for part in found.subforwards}) == 2
    assert mixed


def test_equal_batches_are_split_alike(draw_pricing, draw_pieces, make_rows, hand_set_choice):
    rng = random.Random(4)
    for _ in range(20):
        rows, pricing = make_rows(draw_pieces(rng)), draw_pricing(rng)
        limit = pricing.required_bytes(ForwardSize(1000, 1000))
        picks = []
        for batch in (rows, [row.astype(np.int32).tolist() for row in rows]):
            try:
                found = admit(batch, pricing, limit, hand_set_choice)
                picks.append([(part.rows, part.layout.decisions, part.price) for part in found.subforwards])
            except MemoryBudgetError as error:
                picks.append(str(error))
        assert picks[0] == picks[1]
