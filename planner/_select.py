"""Selection: the cheapest layout of a tree."""

from dataclasses import dataclass
from functools import cached_property

from planner._bounded import bounded_search
from planner._candidates import mandatory_candidates
from planner._decisions import forest_of
from planner._facts import ScoringFacts
from planner._layout import Layout, score_layout
from planner._price import compile_price
from planner._score import Coefficients, Score
from planner._tree import PrefixTree

REFINEMENT_BUDGET = 2000


@dataclass(frozen=True)
class Selection:
    """The layout that a search picked.

    Args:
        layout: the layout.
        score: work, packed tokens, segments, levels; the least of all that the search reached.
    """

    layout: Layout
    score: Score

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
    refinement_budget: int = REFINEMENT_BUDGET,
) -> Selection:
    """Return the cheapest layout that the search reaches; ties go to the least tuple of shared segments.

    Args:
        tree: a prefix tree.
        facts: the runtime.
        coefficients: integer milli-microseconds per unit by term name, None for version 1.
        refinement_budget: proposals past the mandatory candidates.

    Raises:
        ValueError: a negative budget, or a coefficient that is no term, negative or no integer.
    """
    if refinement_budget < 0:
        raise ValueError(f"refinement_budget must be 0 or more, got {refinement_budget}")
    price = compile_price(facts, coefficients)
    layout = Layout(tree, bounded_search(forest_of(tree), price, refinement_budget))
    return Selection(layout, score_layout(layout, facts, coefficients))
