"""Planning for a trainer: rows in, the cheapest layout with its reasons out; plans are remembered."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

from planner._domain import RuntimeFacts
from planner._facts import LayoutFeatures
from planner._layout import Layout, LayoutSegment
from planner._select import Search, Selection, select_layout
from planner._tree import PrefixTree, build_prefix_tree
from planner._version import CoefficientVersion, Scoring

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Group as RichGroup

CACHED_PLANS = 256


@dataclass(frozen=True)
class Plan:
    """A planned batch.

    Args:
        tree: the rows' prefix tree.
        selection: the picked layout.
        scoring: the table that priced it, or version 1, and why.
    """

    tree: PrefixTree
    selection: Selection
    scoring: Scoring

    @property
    def layout(self) -> Layout:
        """The picked layout."""
        return self.selection.layout

    @property
    def decisions(self) -> tuple[int, ...]:
        """Ascending indices of the shared tree segments."""
        return self.layout.decisions

    @property
    def segments(self) -> tuple[LayoutSegment, ...]:
        """The physical segments, each with its parent; parents come first."""
        return self.layout.segments

    @property
    def features(self) -> LayoutFeatures:
        """The integers that the layout was priced by."""
        return self.layout.features

    @property
    def predicted_us(self) -> float:
        """Predicted microseconds of a step, as far as the table's terms count them."""
        return self.scoring.microseconds(self.selection.score[0])

    @cached_property
    def contributions(self) -> dict[str, float]:
        """Microseconds of each term of the table; they add up to ``predicted_us``."""
        return self.contributions_of(self.layout)

    def contributions_of(self, layout: Layout) -> dict[str, float]:
        """Microseconds of each term for another layout of the same tree."""
        return self.scoring.contributions_us(layout)

    @cached_property
    def version_1(self) -> Selection:
        """What the hand-set score would have picked."""
        return select_layout(self.tree, self.scoring.facts)

    def predicted_us_of(self, layout: Layout) -> float:
        """Predicted microseconds of another layout of the same tree, by the same table."""
        return self.scoring.predicted_us(layout)

    def explain(self) -> "RichGroup":
        """Return tables for a rich console: what was picked, its terms, and version 1's pick beside it."""
        from planner._explain import explanation

        return explanation(self.selection, self.version_1, self.scoring)

    def figure(self) -> "Figure":
        """Return a figure of the tree: shared segments filled, replayed ones hollow, tails thin."""
        from planner._figure import tree_figure

        return tree_figure(self.layout, self.predicted_us)


class LayoutCache:
    """The last plans by what they depend on; the one used longest ago leaves first.

    Args:
        capacity: plans kept, 1 or more.
    """

    def __init__(self, capacity: int = CACHED_PLANS) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be 1 or more, got {capacity}")
        self._capacity = capacity
        self._plans: OrderedDict[Any, Plan] = OrderedDict()
        self._lock = Lock()
        self.hits = 0
        self.misses = 0

    def __len__(self) -> int:
        return len(self._plans)

    def get(self, key: Any) -> Plan | None:
        """Return the plan of a key, None where there is none."""
        with self._lock:
            plan = self._plans.get(key)
            if plan is None:
                self.misses += 1
            else:
                self.hits += 1
                self._plans.move_to_end(key)
            return plan

    def put(self, key: Any, plan: Plan) -> None:
        """Keep a plan."""
        with self._lock:
            self._plans[key] = plan
            self._plans.move_to_end(key)
            if len(self._plans) > self._capacity:
                self._plans.popitem(last=False)


class Planner:
    """Plans batches with a coefficient version.

    Args:
        version: as ``load`` returned it.
        search: as for ``select_layout``.
        refinement_budget: as for ``select_layout``.
        cache: of plans; one may be shared by planners, versions and tables are part of its keys.
    """

    def __init__(
        self,
        version: CoefficientVersion,
        *,
        search: Search | None = None,
        refinement_budget: int | None = None,
        cache: LayoutCache | None = None,
    ) -> None:
        self.version = version
        self.cache = LayoutCache() if cache is None else cache
        self._search: Search | None = search
        self._budget = refinement_budget
        self._scorings: dict[RuntimeFacts, Scoring] = {}

    def select(self, rows: Sequence[Any] | PrefixTree, runtime: RuntimeFacts) -> Plan:
        """Plan a batch: the cheapest layout under the table that admits the runtime, else under version 1.

        A plan is remembered by the tree of the rows (which is all of their content that a layout depends on),
        the facts, the version and the table. Rows are read once either way; a tree that was built before
        is looked up in microseconds.

        Args:
            rows: one-dimensional sequences of integer tokens (numpy arrays, CPU tensors, lists), or a tree.
            runtime: the running model.

        Raises:
            ValueError: rows that are none (see ``build_prefix_tree``), or a search that cannot be run.
        """
        tree = rows if isinstance(rows, PrefixTree) else build_prefix_tree(rows)
        scoring = self._scoring(runtime)
        key = (
            tree.identity,
            scoring.facts,
            scoring.version_digest,
            scoring.table_id,
            self._search,
            self._budget,
        )
        plan = self.cache.get(key)
        if plan is None:
            plan = Plan(tree, self._pick(tree, scoring), scoring)
            self.cache.put(key, plan)
        return plan

    def _scoring(self, runtime: RuntimeFacts) -> Scoring:
        found = self._scorings.get(runtime)
        if found is None:
            found = self._scorings[runtime] = self.version.select_scoring(runtime)
        return found

    def _pick(self, tree: PrefixTree, scoring: Scoring) -> Selection:
        return select_layout(
            tree,
            scoring.facts,
            scoring.coefficients,
            search=self._search,
            refinement_budget=self._budget,
        )
