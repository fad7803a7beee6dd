"""Selection: the cheapest layout of a tree."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from planner._bounded import bounded_search
from planner._candidates import mandatory_candidates
from planner._decisions import DecisionForest, forest_of
from planner._exact import exact_search
from planner._facts import ScoringFacts, exact_integer
from planner._layout import Layout
from planner._price import Price, compile_price
from planner._score import Coefficients, Found, Score
from planner._tree import PrefixTree

REFINEMENT_BUDGET = 2000
"""Proposals of a bounded search that was given no budget."""

Search = Literal["exact", "bounded"]


@dataclass(frozen=True)
class Selection:
    """The layout that a search picked.

    Args:
        layout: the layout.
        score: work, packed tokens, segments, levels; the least of all that the search reached.
        search: which search ran; ``exact`` reaches every layout.
    """

    layout: Layout
    score: Score
    search: Search

    @property
    def decisions(self) -> tuple[int, ...]:
        """Ascending indices of the shared segments."""
        return self.layout.decisions

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Labels of the mandatory candidate that it is; none when the search left the mandatory family."""
        candidates = mandatory_candidates(self.layout.tree)
        return next((found.labels for found in candidates if found.layout.mask == self.layout.mask), ())


def select_layout(
    tree: PrefixTree,
    facts: ScoringFacts,
    coefficients: Coefficients | None = None,
    *,
    search: Search | None = None,
    refinement_budget: int | None = None,
) -> Selection:
    """Return the cheapest layout that a search reaches; ties go to the least tuple of shared segments.

    Args:
        tree: a prefix tree.
        facts: the runtime.
        coefficients: integer milli-microseconds per unit by term name, None for version 1.
        search: ``exact`` looks at every layout, ``bounded`` at the mandatory candidates and at
            ``refinement_budget`` proposals more. By default exact, and bounded where a budget is given or the
            tree is too large for the exact search's table.
        refinement_budget: proposals of the bounded search, 2,000 by default.

    Raises:
        ValueError: a negative budget, a budget for the exact search, a tree too large for an exact search
            that was asked for, or a coefficient that is no term, negative or no integer.
        TypeError: a budget that is no integer, or coefficients that are no mapping.
    """
    if refinement_budget is not None:
        refinement_budget = exact_integer("refinement_budget", refinement_budget)
    _check_search(search, refinement_budget)
    price = compile_price(facts, coefficients)
    ran, (mask, score) = _search(forest_of(tree), price, search, refinement_budget)
    return Selection(Layout(tree, mask), score, ran)


def _check_search(search: Search | None, budget: int | None) -> None:
    if search not in (None, "exact", "bounded"):
        raise ValueError(f"search must be 'exact' or 'bounded', got {search!r}")
    if budget is not None and search == "exact":
        raise ValueError("refinement_budget is of the bounded search; the exact search has none")
    if budget is not None and budget < 0:
        raise ValueError(f"refinement_budget must be 0 or more, got {budget}")


def _search(
    forest: DecisionForest, price: Price, search: Search | None, budget: int | None
) -> tuple[Search, Found]:
    if search != "bounded" and budget is None:
        found = exact_search(forest, price)
        if found is not None:
            return "exact", found
        if search == "exact":
            raise ValueError(
                f"{forest.count} decisions, {forest.max_depth} deep, are too many for the exact search; "
                "use search='bounded'"
            )
    return "bounded", bounded_search(forest, price, REFINEMENT_BUDGET if budget is None else budget)
