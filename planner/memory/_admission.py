"""Admission: price a batch before it runs; split it where it does not fit, refuse it where nothing does."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from planner._facts import ScoringFacts
from planner._layout import Layout, plan_layout
from planner._score import Coefficients
from planner._select import REFINEMENT_BUDGET, select_layout
from planner._tree import PrefixTree, build_prefix_tree
from planner.memory._errors import MemoryBudgetError
from planner.memory._ladder import Run, TreeOrder, cut, ladder, lower_bound_bytes
from planner.memory._pricing import Price, Pricing, combined_bytes
from planner.memory._profile import ForwardSize


@dataclass(frozen=True, slots=True)
class LayoutChoice:
    """How the layout of a forward is chosen where memory leaves a choice.

    Args:
        facts: the runtime.
        coefficients: of a loaded version; None is version 1.
        refinement_budget: proposals of the search.
    """

    facts: ScoringFacts
    coefficients: Coefficients | None = None
    refinement_budget: int = REFINEMENT_BUDGET

    def select(self, tree: PrefixTree) -> Layout:
        """The cheapest layout that the search reaches."""
        return select_layout(
            tree, self.facts, self.coefficients, refinement_budget=self.refinement_budget
        ).layout


@dataclass(frozen=True, slots=True)
class Rung:
    """One way of splitting, as it was judged.

    Args:
        subforwards: how many.
        lower_bound_bytes: a peak that it cannot stay below.
        required_bytes: its predicted peak with memory-minimal layouts; None where the bound was too much.
    """

    subforwards: int
    lower_bound_bytes: int
    required_bytes: int | None


@dataclass(frozen=True, slots=True)
class Subforward:
    """One forward of an admitted batch.

    Args:
        rows: the caller's numbers of its rows, in the order of its layout.
        layout: of those rows: the cost-optimal one where it fits, else the memory-minimal one.
        size: under that layout.
        price: of that size.
        memory_minimal: whether every common prefix is shared because the cheaper layout does not fit.
    """

    rows: tuple[int, ...]
    layout: Layout
    size: ForwardSize
    price: Price
    memory_minimal: bool


@dataclass(frozen=True, slots=True)
class Admission:
    """A batch that may run.

    Args:
        subforwards: run one after another, each keeping what it retains.
        required_bytes: predicted peak of all of it.
        usable_limit_bytes: what it was held against.
        rungs: the ways that were judged, the admitted one last.
    """

    subforwards: tuple[Subforward, ...]
    required_bytes: int
    usable_limit_bytes: int
    rungs: tuple[Rung, ...]


def admit(
    rows: Sequence[Any],
    pricing: Pricing,
    usable_limit_bytes: int,
    choice: LayoutChoice,
    *,
    outputs: Sequence[int] | None = None,
) -> Admission:
    """Find the fewest subforwards whose predicted peak fits, and a layout for each; nothing runs.

    Whether a split fits is decided by memory-minimal layouts; then each subforward, first to last, gets the
    cost-optimal one if the whole still fits.

    Args:
        rows: one-dimensional sequences of integer tokens.
        pricing: how forwards are charged.
        usable_limit_bytes: what the batch may add to the memory in use.
        choice: how layouts are chosen.
        outputs: predictions handed back, by row.

    Raises:
        ValueError: rows that make no tree, or outputs for another number of rows.
        MemoryBudgetError: no split fits.
    """
    tree = build_prefix_tree(rows)
    order = TreeOrder(tree, outputs)
    rungs: list[Rung] = []
    for count in ladder(len(order)):
        rung = _judge(order, count, pricing, usable_limit_bytes)
        rungs.append(rung)
        if rung.required_bytes is not None and rung.required_bytes <= usable_limit_bytes:
            runs = cut(len(order), count)
            subforwards = _with_layouts(rows, order, runs, pricing, usable_limit_bytes, choice)
            required = combined_bytes([part.price for part in subforwards])
            return Admission(tuple(subforwards), required, usable_limit_bytes, tuple(rungs))
    raise _refusal(tree, order, pricing, usable_limit_bytes)


def rung_prices(order: TreeOrder, count: int, pricing: Pricing) -> list[Price]:
    """Prices of the subforwards of a rung under memory-minimal layouts."""
    return [pricing.price(order.size(run)) for run in cut(len(order), count)]


def _judge(order: TreeOrder, count: int, pricing: Pricing, limit: int) -> Rung:
    bound = lower_bound_bytes(order, count, pricing)
    required = None if bound > limit else combined_bytes(rung_prices(order, count, pricing))
    return Rung(count, bound, required)


def _with_layouts(
    rows: Sequence[Any],
    order: TreeOrder,
    runs: Sequence[Run],
    pricing: Pricing,
    limit: int,
    choice: LayoutChoice,
) -> list[Subforward]:
    parts = [_minimal(rows, order, run, pricing) for run in runs]
    for index, part in enumerate(parts):
        layout = choice.select(part.layout.tree)
        size = replace(part.size, packed_tokens=layout.packed_tokens)
        cheaper = replace(part, layout=layout, size=size, price=pricing.price(size), memory_minimal=False)
        prices = [other.price for other in (*parts[:index], cheaper, *parts[index + 1 :])]
        if combined_bytes(prices) <= limit:
            parts[index] = cheaper
    return parts


def _minimal(rows: Sequence[Any], order: TreeOrder, run: Run, pricing: Pricing) -> Subforward:
    numbers = tuple(order.rows[run[0] : run[1]])
    tree = build_prefix_tree([rows[number] for number in numbers])
    size = order.size(run)
    return Subforward(numbers, plan_layout(tree, tree.decisions), size, pricing.price(size), True)


def _refusal(tree: PrefixTree, order: TreeOrder, pricing: Pricing, limit: int) -> MemoryBudgetError:
    """Every rung is priced exactly here, so that the error names the best of them."""
    prices = {count: combined_bytes(rung_prices(order, count, pricing)) for count in ladder(len(order))}
    best = min(prices, key=lambda count: (prices[count], count))
    longest = max(range(tree.row_count), key=lambda row: (tree.row_lengths[row], -row))
    alone = pricing.required_bytes(ForwardSize(order.most_tokens, order.most_tokens, order.most_outputs))
    if alone > limit:
        advice = (
            f"Row {longest} has {order.most_tokens:,} tokens and needs {alone:,} bytes by itself: "
            f"shorten it, or raise the limit to {prices[best]:,}"
        )
    else:
        advice = (
            f"The least, in {best} subforward(s), is {prices[best]:,}: raise the limit to that, or give the "
            "batch fewer rows"
        )
    if not all(pricing.trusts_retained(order.size(run)) for run in cut(len(order), best)):
        advice += (
            "; what a subforward retains is charged in full, because no forward near its size and sharing "
            "ratio has been observed: observe one and the charge may fall"
        )
    return MemoryBudgetError(prices[best], limit, advice + ".")
