"""All pairs of candidates within a cell: the rows of the least squares, and what an ordering is judged on."""

from dataclasses import dataclass
from functools import lru_cache
from math import hypot

import numpy as np

from fit._cells import Evidence, FitCandidate, Floats, Indices, Ints, Mask
from fit._noise import median_error_pct

SEPARATION_PCT = 3.0
"""Two medians closer than this, relative to the faster, are a tie (design, section 8)."""
NOISE_SIGMAS = 2.0
"""How many standard errors two medians must lie apart to differ."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs within cells, cell by cell, the earlier candidate first.

    Args:
        first: (pairs,) candidate index of the earlier one.
        second: (pairs,) candidate index of the later one.
        cell: (pairs,) cell index.
    """

    first: Indices
    second: Indices
    cell: Indices

    def only(self, mask: Mask) -> "Pairs":
        """The pairs under a mask."""
        return Pairs(self.first[mask], self.second[mask], self.cell[mask])

    def __len__(self) -> int:
        return len(self.first)


def within_cells(evidence: Evidence) -> Pairs:
    """Every pair of candidates of one cell."""
    ends = np.append(evidence.starts[1:], len(evidence.ms))
    firsts: list[Indices] = []
    seconds: list[Indices] = []
    for start, end in zip(evidence.starts.tolist(), ends.tolist(), strict=True):
        a, b = _pairs_among(end - start)
        firsts.append(a + start)
        seconds.append(b + start)
    first = np.concatenate(firsts)
    return Pairs(first, np.concatenate(seconds), evidence.cell_of[first])


@lru_cache(maxsize=128)
def _pairs_among(count: int) -> tuple[Indices, Indices]:
    a, b = np.triu_indices(count, 1)
    return a.astype(np.int64), b.astype(np.int64)


def pairs_a_cell(evidence: Evidence, pairs: Pairs) -> Indices:
    """(pairs,) how many of the pairs lie in the pair's cell."""
    return np.bincount(pairs.cell, minlength=len(evidence.starts))[pairs.cell]


def separation_pct(evidence: Evidence, pairs: Pairs) -> Floats:
    """(pairs,) how far the slower median lies above the faster, percent."""
    a, b = evidence.ms[pairs.first], evidence.ms[pairs.second]
    return np.abs(a - b) / np.minimum(a, b) * 100


def difference_noise_pct(one: FitCandidate, other: FitCandidate) -> float:
    """Two standard errors of the difference of two medians, percent; infinite where one sample tells none."""
    errors = [median_error_pct(each.n, each.spread_pct) for each in (one, other)]
    return NOISE_SIGMAS * hypot(*errors)


def pair_noise_pct(evidence: Evidence, pairs: Pairs) -> Floats:
    """(pairs,) as `difference_noise_pct`, of every pair."""
    return NOISE_SIGMAS * np.hypot(evidence.error_pct[pairs.first], evidence.error_pct[pairs.second])


def ordered_pairs(evidence: Evidence, separation: float = SEPARATION_PCT) -> Pairs:
    """The pairs that lie further apart than ``separation`` percent."""
    pairs = within_cells(evidence)
    return pairs.only(separation_pct(evidence, pairs) > separation)


def right_order(evidence: Evidence, pairs: Pairs, keys: Ints) -> Mask:
    """Which pairs the score keys order as the medians do; ``keys`` may have a second axis of tables."""
    faster = evidence.ms[pairs.first] < evidence.ms[pairs.second]
    cheaper = keys[pairs.first] < keys[pairs.second]
    return cheaper == faster.reshape((-1,) + (1,) * (keys.ndim - 1))


def count_right(evidence: Evidence, pairs: Pairs, keys: Ints) -> Indices:
    """(tables,) how many pairs each table of (candidates, tables) keys orders right."""
    faster = evidence.ms[pairs.first] < evidence.ms[pairs.second]
    first, second = keys.T.take(pairs.first, axis=1), keys.T.take(pairs.second, axis=1)
    return np.count_nonzero((first < second) == faster, axis=1)


def pair_rows(evidence: Evidence, pairs: Pairs) -> tuple[Floats, Floats]:
    """Weighted differences: the rows and targets of the least squares.

    A pair weighs ``1 / sqrt(pairs of its cell)`` over the mean of its two times, so that every cell and
    every scale of time counts alike.

    Returns:
        (pairs, terms) weighted differences of the terms, and (pairs,) those of the times in microseconds.
    """
    counts = pairs_a_cell(evidence, pairs)
    a, b = evidence.ms[pairs.first], evidence.ms[pairs.second]
    weight = 1.0 / np.sqrt(counts) / (0.5 * (a + b))
    units = evidence.units
    return (units[pairs.first] - units[pairs.second]) * weight[:, None], weight * (a - b) * 1000.0
