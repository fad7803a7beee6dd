"""An optional second stage: a few cheap layouts, priced again by whatever the caller can ask."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from planner._bounded import bounded_shortlist
from planner._decisions import forest_of
from planner._facts import ScoringFacts
from planner._layout import Layout, score_layout
from planner._price import compile_price
from planner._score import Coefficients, Score
from planner._select import REFINEMENT_BUDGET, Selection, select_layout
from planner._tree import PrefixTree


@dataclass(frozen=True, slots=True)
class Priced:
    """A layout of a shortlist with the caller's price.

    Args:
        layout: the layout.
        score: by the table.
        price: by the caller; less is better.
        incumbent: whether it is the anchor that every other is held against.
    """

    layout: Layout
    score: Score
    price: float
    incumbent: bool


@dataclass(frozen=True, slots=True)
class Reranking:
    """The picked layout, and all that were priced, in order of pricing: the incumbent, then by score."""

    picked: Priced
    priced: tuple[Priced, ...]


def shortlist_layouts(
    tree: PrefixTree, facts: ScoringFacts, coefficients: Coefficients | None = None, *, count: int
) -> tuple[Selection, ...]:
    """Return the cheapest layouts by score, the selected one first.

    The others are the cheapest that the bounded search meets; ties go to the least tuple of shared segments.

    Args:
        tree: a prefix tree.
        facts: the runtime.
        coefficients: integer milli-microseconds per unit by term name, None for version 1.
        count: how many; fewer where the tree has fewer layouts.

    Raises:
        ValueError: a count below 1, or a coefficient that is no term, negative or no integer.
    """
    if count < 1:
        raise ValueError(f"count must be 1 or more, got {count}")
    best = select_layout(tree, facts, coefficients)
    price = compile_price(facts, coefficients)
    met = bounded_shortlist(forest_of(tree), price, REFINEMENT_BUDGET, count)
    others = [Selection(Layout(tree, mask), score, "bounded") for mask, score in met]
    others = [found for found in others if found.layout.mask != best.layout.mask]
    return (best, *others)[:count]


def rerank_layouts(
    tree: PrefixTree,
    facts: ScoringFacts,
    coefficients: Coefficients | None,
    price: Callable[[Layout], float],
    *,
    count: int = 8,
    incumbent: Layout | None = None,
) -> Reranking:
    """Pick among the cheapest layouts by the caller's price.

    Each layout is priced once, the incumbent first. Another layout is picked only when its price is less
    than the incumbent's; equal prices go to the one that the score prefers. Same prices, same pick.

    Args:
        tree: a prefix tree.
        facts: the runtime.
        coefficients: the table, None for version 1.
        price: a finite number of 0 or more for a layout; a simulator, a measurement, another model.
        count: layouts priced beside the incumbent.
        incumbent: the anchor, such as the layout in use; the selected layout where None.

    Raises:
        ValueError: an incumbent of another tree, or a price that is no finite number of 0 or more.
    """
    shortlist = shortlist_layouts(tree, facts, coefficients, count=count)
    anchor = shortlist[0].layout if incumbent is None else incumbent
    if anchor.tree is not tree and anchor.tree.identity != tree.identity:
        raise ValueError("the incumbent is a layout of another tree")
    masks = dict.fromkeys([anchor.mask, *(found.layout.mask for found in shortlist)])
    priced = tuple(
        _priced(Layout(tree, mask), facts, coefficients, price, incumbent=mask == anchor.mask)
        for mask in masks
    )
    # `min` keeps the first of equals: the incumbent, then the order of the scores.
    return Reranking(min(priced, key=lambda found: found.price), priced)


def _priced(
    layout: Layout,
    facts: ScoringFacts,
    coefficients: Coefficients | None,
    price: Callable[[Layout], float],
    *,
    incumbent: bool,
) -> Priced:
    found: Any = price(layout)
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 <= found < math.inf:
        raise ValueError(
            f"a layout's price must be a finite number of 0 or more, got {found!r} for the one that shares "
            f"{list(layout.decisions)}"
        )
    return Priced(layout, score_layout(layout, facts, coefficients), float(found), incumbent)
