"""Agreement of the ranks of a process group, so that all of them split a batch alike.

Ranks see different peaks and have different memory left. What they plan with must be one and the same: the
dearer rate and the smaller of everything that grants trust or room.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from planner.memory._pricing import Pricing
from planner.memory._profile import MemoryProfile

AllReduce = Callable[[Sequence[int], Literal["max", "min"]], Sequence[int]]
"""Element-wise maximum or minimum over all ranks of equally many integers below 2^63."""


def agree(pricing: Pricing, usable_limit_bytes: int, all_reduce: AllReduce) -> tuple[Pricing, int]:
    """Return the pricing and limit that every rank of the group has in common; collective.

    Rates take the maximum; limit, sharing ratio, window and trusted size the minimum. Where any rank has no
    profile, none has: a rank that has seen nothing cannot vouch for itself.

    Args:
        pricing: this rank's; floor and formula must be those of all ranks.
        usable_limit_bytes: what a forward may add on this rank.
        all_reduce: reduces integers over the group.
    """
    mine = pricing.profile
    limit, everyone = all_reduce([usable_limit_bytes, int(mine is not None)], "min")
    # Every rank takes part in both collectives, whatever it has: a rank that skips one would hang the rest.
    rates = all_reduce([mine.rate, mine.retained_rate] if mine else [0, 0], "max")
    least = all_reduce(_trusted(mine) if mine else [0] * 5, "min")
    if not everyone:
        return replace(pricing, profile=None), limit
    sharing, tokens, packed, logical, observations = least
    profile = MemoryProfile(rates[0], rates[1], sharing, tokens, packed, logical, observations)
    return replace(pricing, profile=profile), limit


def _trusted(profile: MemoryProfile) -> list[int]:
    return [
        profile.sharing,
        profile.largest_tokens,
        profile.largest_packed,
        profile.largest_logical,
        profile.observations,
    ]
