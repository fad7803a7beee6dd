"""Stochastic curtailment: whether the rounds that are left could still change which candidate is fastest.

Lan, Simon and Halperin (1982): a test of a fixed size may end at any look at which the chance that what is
left overturns its result, were the opposite true, is at most gamma. However many looks there are, its error
is then at most the fixed test's over (1 - gamma). Here the fixed test is the attempt with all its rounds; the
opposite is a rival faster than the candidate now fastest by a tie's width (Bechhofer's indifference zone).

Times are compared as logarithms within rounds, since rounds are interleaved: what slows a round slows all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, log1p, sqrt
from statistics import NormalDist, median

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Round = Mapping[str, float]

_LEAST_FREEDOM = 2


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a cell stands after some rounds: its fastest candidate, and the rivals that may yet pass it."""

    fastest: str
    undecided: tuple[str, ...]


def standing(
    rounds: Sequence[Round], names: Sequence[str], *, left: int, tie_pct: float, error_pct: float
) -> Standing:
    """Judge the rivals of the fastest candidate.

    Args:
        rounds: milliseconds by candidate, a mapping a round; a sample that does not count is left out.
        names: the candidates.
        left: rounds that could still follow.
        tie_pct: a rival that is faster by no more than this is no better choice.
        error_pct: the chance, over all rivals together, that what is left would put one ahead.

    """
    effects = _effects(rounds, names)
    fastest = _fastest(rounds, names)
    rivals = [index for index in range(len(names)) if index != fastest]
    if not rivals or left <= 0:
        return Standing(names[fastest], ())
    if effects.freedom < _LEAST_FREEDOM:
        return Standing(names[fastest], tuple(names[index] for index in rivals))
    quantile = upper_t(error_pct / 100 / len(rivals), effects.freedom)
    # In units of information, rounds halved: a difference of two candidates has twice the variance of one.
    bar = quantile * effects.scatter * sqrt(left / 2)
    undecided = tuple(
        names[index]
        for index in rivals
        if (effects.level[index] - effects.level[fastest] + log1p(tie_pct / 100))
        < bar * effects.variance(fastest, index)
    )
    return Standing(names[fastest], undecided)


def _fastest(rounds: Sequence[Round], names: Sequence[str]) -> int:
    """By median, as the evidence will be read; the first of equals."""
    medians = [median(row[name] for row in rounds if name in row) for name in names]
    return medians.index(min(medians))


@dataclass(frozen=True, slots=True)
class _Effects:
    """Two-way layout: a level a candidate (log milliseconds), what the rounds share taken out."""

    level: Floats
    covariance: Floats
    scatter: float
    freedom: int

    def variance(self, one: int, two: int) -> float:
        """Variance of the difference of two levels over that of a sample: 2 / n when no sample is missing."""
        return float(self.covariance[one, one] + self.covariance[two, two] - 2 * self.covariance[one, two])


def _effects(rounds: Sequence[Round], names: Sequence[str]) -> _Effects:
    """Least squares of log time on candidate and round; samples may be missing."""
    there = np.array([[name in row for name in names] for row in rounds if row], dtype=np.float64)
    logs = np.array([[log(row.get(name, 1.0)) for name in names] for row in rounds if row])
    sizes = there.sum(axis=1)
    # The normal equations with the rounds' effects eliminated: a Laplacian of which candidates met in rounds.
    laplacian = np.diag(there.sum(axis=0)) - (there / sizes[:, None]).T @ there
    centred = there * (logs - (there * logs).sum(axis=1, keepdims=True) / sizes[:, None])
    covariance = np.linalg.pinv(laplacian, hermitian=True)
    level = covariance @ centred.sum(axis=0)
    residual = centred - there * (level - (there * level).sum(axis=1, keepdims=True) / sizes[:, None])
    # The round means belong to the level: without them only differences are known, and those suffice.
    rank = int(np.linalg.matrix_rank(laplacian, hermitian=True))
    freedom = int(sizes.sum()) - len(sizes) - rank if rank == len(names) - 1 else 0
    scatter = sqrt(float((residual**2).sum()) / freedom) if freedom > 0 else 0.0
    return _Effects(level, covariance, scatter, freedom)


def upper_t(tail: float, freedom: int) -> float:
    """The point that Student's t of these degrees of freedom exceeds with this chance.

    Cornish and Fisher's expansion in 1/freedom (Abramowitz and Stegun 26.7.5): within 0.5% from 4 degrees on
    for tails above 0.001, and no need of a library in a process that measures.
    """
    z = NormalDist().inv_cdf(1 - tail)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom ** (power + 1) for power, term in enumerate(terms))
