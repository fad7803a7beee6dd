"""The mandatory candidates: the layouts that every measurement covers and every search starts from."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from planner._arrays import Flags, Integers
from planner._decisions import DecisionForest, flags_to_masks, forest_of, masks_to_flags, order_key
from planner._layout import Layout
from planner._measure import measure
from planner._tree import PrefixTree

SAVINGS_PLATEAUS = (90, 95, 99)
NO_TINY = 0

LARGEST_FAMILY = 16_000_000
"""Candidates times decisions past which a search starts from part of the family."""

CELLS_AT_ONCE = 1 << 21
"""Thresholds times decisions walked in one go."""

THINNED = 256
"""Uniform depths and thresholds that a thinned family keeps of each."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A layout with every policy that produces it.

    Args:
        labels: the policies' names in canonical order; the first names the candidate.
        decisions: ascending indices of the shared segments.
        span_thresholds: ascending effective-span thresholds that give this layout, maybe none.
        layout: the layout.
    """

    labels: tuple[str, ...]
    decisions: tuple[int, ...]
    span_thresholds: tuple[int, ...]
    layout: Layout = field(repr=False)


class _Family:
    """Masks in order of arising, with labels and thresholds."""

    def __init__(self) -> None:
        self.labels: dict[int, list[str]] = {}
        self.thresholds: dict[int, list[int]] = {}

    def add(self, mask: int, *labels: str) -> None:
        known = self.labels.setdefault(mask, [])
        known.extend(label for label in labels if label not in known)


def mandatory_candidates(tree: PrefixTree) -> tuple[Candidate, ...]:
    """Return the whole mandatory family of a tree, ordered by the tuple of shared segments.

    No sharing; depth one; every uniform depth; every effective-span threshold; full sharing; the savings
    plateaus (design, section 6). Equal layouts are one candidate.
    """
    forest = forest_of(tree)
    family = mandatory_family(forest)
    return tuple(
        Candidate(
            tuple(family.labels[mask]),
            forest.decisions_of(mask),
            tuple(family.thresholds.get(mask, ())),
            Layout(tree, mask),
        )
        for mask in sorted(family.labels, key=order_key)
    )


def mandatory_family(forest: DecisionForest) -> _Family:
    """Return the family as masks: their labels in order of arising and their thresholds, ascending."""
    return _family(forest, range(1, max(1, forest.max_depth) + 1), span_thresholds(forest))


def search_family(forest: DecisionForest) -> _Family:
    """Return what a search starts from: the whole family, thinned out evenly where it would be vast.

    A chain of 10,000 rows has 10,000 uniform depths and as many thresholds of 10,000 decisions each.
    """
    thresholds = int(min(forest.depths.sum() + 1, forest.ends.max() + 1))
    if forest.count * (thresholds + forest.max_depth) <= LARGEST_FAMILY:
        return mandatory_family(forest)
    steps = forest.ends[:-1] - forest.ends[forest.parents] + 1
    near = np.unique(np.concatenate(([1], steps, forest.ends[:-1] + 1)))
    depths = _spread(np.arange(1, forest.max_depth + 1))
    return _family(forest, depths.tolist(), _spread(near))


def _spread(values: Integers) -> Integers:
    """At most ``THINNED`` of ascending values, the first and last among them."""
    if len(values) <= THINNED:
        return values
    return values[np.linspace(0, len(values) - 1, THINNED).astype(np.int64)]


def _family(forest: DecisionForest, depths: Iterable[int], thresholds: Integers) -> _Family:
    family = _Family()
    family.add(0, "no_sharing", "uniform_depth_0")
    for depth in depths:
        names = ("depth_one", "uniform_depth_1") if depth == 1 else (f"uniform_depth_{depth}",)
        family.add(_mask(forest.depths <= depth), *names)
    for threshold, mask in zip(thresholds.tolist(), _span_masks(forest, thresholds), strict=True):
        family.add(mask, f"minimum_effective_span_{threshold}")
        family.thresholds.setdefault(mask, []).append(threshold)
    family.add((1 << forest.count) - 1, "full_sharing")
    for percent, mask in _savings_plateaus(forest, list(family.labels)):
        family.add(mask, f"savings_plateau_{percent}")
    return family


def span_thresholds(forest: DecisionForest) -> Integers:
    """Return the ascending thresholds at which some decision's choice can change; 1 shares everything."""
    ends = forest.ends
    found = [np.ones(1, dtype=np.int64), ends[:-1] + 1]
    below = np.arange(forest.count)
    above = forest.parents
    while below.size:
        reached = above < forest.count
        below, above = below[reached], above[reached]
        found.append(np.unique(ends[below] - ends[above] + 1))
        above = forest.parents[above]
    return np.unique(np.concatenate(found))


def _span_masks(forest: DecisionForest, thresholds: Integers) -> list[int]:
    """For each threshold share, parents first, what spans that much since its nearest shared ancestor."""
    at_once = max(1, CELLS_AT_ONCE // (forest.count + 1))
    parts = (thresholds[start : start + at_once] for start in range(0, len(thresholds), at_once))
    return [mask for part in parts for mask in _span_masks_at_once(forest, part)]


def _span_masks_at_once(forest: DecisionForest, thresholds: Integers) -> list[int]:
    shared = np.empty((forest.count, len(thresholds)), dtype=np.bool_)
    # What is covered down to each decision; the last entry stands for "none above".
    covered = np.zeros((forest.count + 1, len(thresholds)), dtype=np.int64)
    for index, (parent, end) in enumerate(zip(forest.parents, forest.ends, strict=False)):
        np.less_equal(thresholds, end - covered[parent], out=shared[index])
        covered[index] = np.where(shared[index], end, covered[parent])
    return flags_to_masks(np.ascontiguousarray(shared.T))


def _savings_plateaus(forest: DecisionForest, masks: Sequence[int]) -> Iterator[tuple[int, int]]:
    """For each plateau the least layout among those that save so many percent of what full sharing saves."""
    found = measure(forest, masks_to_flags(masks, forest.count), NO_TINY)
    saved = forest.token_count - found.packed_tokens
    most = int(saved[masks.index((1 << forest.count) - 1)])
    keys = list(
        zip(
            found.shared_decisions.tolist(),
            found.max_depth.tolist(),
            found.segment_count.tolist(),
            found.packed_tokens.tolist(),
            map(order_key, masks),
            masks,
            strict=True,
        )
    )
    for percent in SAVINGS_PLATEAUS:
        reached = np.flatnonzero(saved * 100 >= percent * most).tolist()
        yield percent, min(keys[index] for index in reached)[-1]


def _mask(flags: Flags) -> int:
    return flags_to_masks(flags[np.newaxis])[0]
