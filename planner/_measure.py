"""Features of many layouts of one tree at once (design, section 6), without building their segments.

A shared decision's segment starts where its nearest shared ancestor ends; ends grow downwards, so that is the
greatest end among the shared ancestors, found for all decisions and layouts by doubling the steps upwards.
"""

from dataclasses import dataclass

import numpy as np

from planner._arrays import Flags, Integers
from planner._decisions import DecisionForest
from planner._facts import SEGMENT_THRESHOLDS, LayoutFeatures

CELLS_AT_ONCE = 1 << 16
"""Layouts times columns measured in one go: what stays in a core's cache."""


@dataclass(frozen=True, slots=True)
class Measures:
    """One integer a layout: what prices depend on."""

    packed_tokens: Integers
    tiny_segments: Integers
    segment_count: Integers
    max_depth: Integers
    shared_decisions: Integers


def measure(forest: DecisionForest, shared: Flags, tiny: int) -> Measures:
    """Measure layouts.

    Args:
        forest: the tree's decisions.
        shared: a row a layout, a column a decision.
        tiny: segments shorter than this many tokens are counted as tiny.
    """
    rows = max(1, CELLS_AT_ONCE // (forest.count + len(forest.row_lengths) + 1))
    if len(shared) <= rows:
        return _measure(forest, shared, tiny)
    parts = [_measure(forest, shared[start : start + rows], tiny) for start in range(0, len(shared), rows)]
    return Measures(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in Measures.__dataclass_fields__)
    )


def _measure(forest: DecisionForest, shared: Flags, tiny: int) -> Measures:
    covered = _covered(forest, shared)
    starts = covered[:, forest.parents]
    spans = np.where(shared, forest.ends[:-1] - starts, 0)
    tails = forest.row_lengths - covered[:, forest.row_decisions]
    ones = shared.astype(np.int64)
    decisions = ones.sum(axis=1)
    small = np.count_nonzero(shared & (spans < tiny), axis=1)
    small += np.count_nonzero((tails > 0) & (tails < tiny), axis=1)
    return Measures(
        packed_tokens=forest.token_count - spans @ (forest.row_counts - 1),
        tiny_segments=small,
        segment_count=decisions + len(forest.row_lengths) - ones @ forest.ending_rows,
        max_depth=_depths(forest, ones),
        shared_decisions=decisions,
    )


def _covered(forest: DecisionForest, shared: Flags) -> Integers:
    """For each decision (and "none above") the end of its nearest shared ancestor or self."""
    covered = np.zeros((len(shared), forest.count + 1), dtype=np.int64)
    np.multiply(shared, forest.ends[:-1], out=covered[:, :-1])
    for jump in forest.jumps:
        np.maximum(covered, covered[:, jump], out=covered)
    return covered


def _depths(forest: DecisionForest, ones: Integers) -> Integers:
    levels = np.zeros((len(ones), forest.count + 1), dtype=np.int64)
    levels[:, :-1] = ones
    for jump in forest.jumps:
        levels += levels[:, jump]
    levels += 1
    levels[:, :-1] -= ones * forest.tailless
    return levels.max(axis=1)


def layout_lengths(forest: DecisionForest, shared: Flags) -> tuple[Integers, Integers]:
    """Lengths of one layout's shared segments and of its rows' tails (0 for a row without one)."""
    covered = _covered(forest, shared[np.newaxis])[0]
    spans = (forest.ends[:-1] - covered[forest.parents])[shared]
    return spans, forest.row_lengths - covered[forest.row_decisions]


def features(forest: DecisionForest, shared: Flags) -> LayoutFeatures:
    """All features of one layout."""
    spans, tails = layout_lengths(forest, shared)
    lengths = np.concatenate((spans, tails[tails > 0]))
    buckets = np.searchsorted(SEGMENT_THRESHOLDS, lengths, side="right")
    below = np.bincount(buckets, minlength=len(SEGMENT_THRESHOLDS) + 1).cumsum()[:-1]
    depth = _depths(forest, shared[np.newaxis].astype(np.int64))
    return LayoutFeatures(int(lengths.sum()), len(lengths), int(depth[0]), tuple(below.tolist()))
