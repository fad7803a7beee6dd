"""How many rows a forward may take: decided by the memory-minimal layout, whose size grows with every row.

The cost-optimal layout must not decide it: with one row more, sharing can start to pay, and the forward gets
smaller. Feasibility would then not be monotone in the width, and a bisection would miss the answer.
"""

from collections.abc import Sequence
from typing import Any

from planner._tree import build_prefix_tree
from planner.memory._errors import MemoryBudgetError
from planner.memory._ladder import TreeOrder
from planner.memory._pricing import Pricing


def widest_forward(
    rows: Sequence[Any],
    pricing: Pricing,
    usable_limit_bytes: int,
    *,
    at_least: int = 1,
    outputs: Sequence[int] | None = None,
) -> int:
    """Return how many of the rows, in tree order, one forward may take.

    Past `at_least` the plan widens of its own accord, and only as far as the profile is trusted to price it:
    8 times the largest forward seen, and no further without a profile.

    Args:
        rows: one-dimensional sequences of integer tokens.
        pricing: how forwards are charged.
        usable_limit_bytes: what the forward may add to the memory in use.
        at_least: rows that the caller needs in one forward.
        outputs: predictions handed back, by row.

    Raises:
        ValueError: `at_least` is not between 1 and the number of rows.
        MemoryBudgetError: not even so many fit.
    """
    order = TreeOrder(build_prefix_tree(rows), outputs)
    if not 1 <= at_least <= len(order):
        raise ValueError(f"at_least must lie in 1..{len(order)}, got {at_least}")
    needed = pricing.required_bytes(order.size((0, at_least)))
    if needed > usable_limit_bytes:
        raise MemoryBudgetError(
            needed, usable_limit_bytes, f"Ask for fewer than {at_least} rows a forward, or raise the limit."
        )
    low, high = at_least, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        size = order.size((0, middle))
        if pricing.may_widen(size) and pricing.required_bytes(size) <= usable_limit_bytes:
            low = middle
        else:
            high = middle - 1
    return low
