"""A layout: a tree with a set of its decisions shared."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

from planner._decisions import DecisionForest, forest_of, masks_to_flags
from planner._facts import LayoutFeatures, ScoringFacts
from planner._measure import features, measure
from planner._price import compile_price
from planner._score import Coefficients, Score
from planner._tree import PrefixTree


@dataclass(frozen=True, slots=True)
class LayoutSegment:
    """A physical segment: tokens that are computed once, after all of their parent's.

    Args:
        parent: index of the segment before it in the layout, None where it starts its rows.
        start: first token position inside the rows.
        end: position past its last token.
        level: 1 without a parent, else the parent's plus 1.
        rows: ascending numbers of the rows that go through it.
        node: index of the tree segment that it ends with.
    """

    parent: int | None
    start: int
    end: int
    level: int
    rows: tuple[int, ...]
    node: int

    @property
    def length(self) -> int:
        """Tokens in it."""
        return self.end - self.start


@dataclass(frozen=True)
class Layout:
    """A set of shared decisions of a tree, and what follows from it; parts are made when asked for.

    Two layouts are equal when they share the same decisions of the same tree object.
    """

    tree: PrefixTree
    mask: int

    @cached_property
    def decisions(self) -> tuple[int, ...]:
        """Ascending indices of the shared segments."""
        return self._forest.decisions_of(self.mask)

    @cached_property
    def features(self) -> LayoutFeatures:
        """The integers that it is priced by."""
        flags = masks_to_flags([self.mask], self._forest.count)[0]
        return features(self._forest, flags)

    @property
    def packed_tokens(self) -> int:
        """Tokens computed, each physical segment once."""
        return self.features.packed_tokens

    @property
    def segment_count(self) -> int:
        """Physical segments, tails included."""
        return self.features.segment_count

    @property
    def max_depth(self) -> int:
        """Levels, the roots' and the tails' included; 1 without sharing."""
        return self.features.max_depth

    @cached_property
    def segments(self) -> tuple[LayoutSegment, ...]:
        """The physical segments: the shared ones in tree order, then the rows' tails; parents come first."""
        return _physical_segments(self.tree, self.decisions)

    @property
    def _forest(self) -> DecisionForest:
        return forest_of(self.tree)


def plan_layout(tree: PrefixTree, decisions: Iterable[int]) -> Layout:
    """Return the layout that shares the given segments.

    Args:
        tree: a prefix tree.
        decisions: indices out of ``tree.decisions``, in any order.

    Raises:
        ValueError: an index that is no decision of the tree.
    """
    return Layout(tree, forest_of(tree).mask_of(decisions))


@overload
def layout_features(layout: Layout, /) -> LayoutFeatures: ...
@overload
def layout_features(tree: PrefixTree, decisions: Iterable[int], /) -> LayoutFeatures: ...
def layout_features(tree: PrefixTree | Layout, decisions: Iterable[int] = (), /) -> LayoutFeatures:
    """Return the features of a layout, or of a tree with a set of decisions shared; segments are not built.

    Raises:
        ValueError: an index that is no decision of the tree.
    """
    layout = tree if isinstance(tree, Layout) else plan_layout(tree, decisions)
    return layout.features


def score_layout(layout: Layout, facts: ScoringFacts, coefficients: Coefficients | None = None) -> Score:
    """Return ``(work, packed_tokens, segment_count, max_depth)``; None for coefficients is version 1.

    Raises:
        ValueError: a coefficient that is no term, negative or no integer.
    """
    found, price = layout.features, compile_price(facts, coefficients)
    work = price.work_of(
        found.packed_tokens,
        found.below(price.tiny_below),
        found.segment_count,
        found.max_depth,
        layout.mask.bit_count(),
    )
    return work, found.packed_tokens, found.segment_count, found.max_depth


def score_layouts(
    tree: PrefixTree,
    decision_sets: Sequence[Iterable[int]],
    facts: ScoringFacts,
    coefficients: Coefficients | None = None,
) -> list[Score]:
    """Score many layouts of a tree at once; the integers are those of ``score_layout``, bit for bit.

    Raises:
        ValueError: an index that is no decision of the tree, or a coefficient that cannot score.
    """
    forest, price = forest_of(tree), compile_price(facts, coefficients)
    masks = [forest.mask_of(decisions) for decisions in decision_sets]
    if not masks:
        return []
    found = measure(forest, masks_to_flags(masks, forest.count), price.tiny_below)
    columns = (price.work(found), found.packed_tokens, found.segment_count, found.max_depth)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _physical_segments(tree: PrefixTree, decisions: tuple[int, ...]) -> tuple[LayoutSegment, ...]:
    shared = set(decisions)
    segments: list[LayoutSegment] = []
    # For every tree segment the physical segment of its nearest shared ancestor or self, -1 for none.
    nearest: list[int] = []
    for node, parent in enumerate(tree.parents):
        above = nearest[parent] if parent >= 0 else -1
        if node in shared:
            nearest.append(len(segments))
            segments.append(_after(segments, above, tree.ends[node], tree.segments[node].rows, node))
        else:
            nearest.append(above)
    for row, (node, length) in enumerate(zip(tree.row_nodes, tree.row_lengths, strict=True)):
        above = nearest[node]
        if above < 0 or segments[above].end < length:
            segments.append(_after(segments, above, length, (row,), node))
    return tuple(segments)


def _after(
    segments: list[LayoutSegment], parent: int, end: int, rows: tuple[int, ...], node: int
) -> LayoutSegment:
    if parent < 0:
        return LayoutSegment(None, 0, end, 1, rows, node)
    return LayoutSegment(parent, segments[parent].end, end, segments[parent].level + 1, rows, node)
