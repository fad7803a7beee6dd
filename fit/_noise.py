"""How uncertain a measured median is, and so when two candidates differ at all."""

from functools import cache, lru_cache
from math import erfc, sqrt

import numpy as np

from fit._cells import Evidence, Floats
from fit._pairs import Pairs

MEDIAN_EFFICIENCY = 1.2533
"""Standard error of a median over that of a mean, for normal samples: sqrt(pi / 2)."""
NOISE_SIGMAS = 2.0


GRID = np.linspace(-9.0, 9.0, 3_601)
"""Standard deviations over which ranges are integrated; the rest is below 1e-15."""


@cache
def _below() -> Floats:
    """Share of a normal population below each point of the grid."""
    return np.array([erfc(-x / sqrt(2.0)) / 2 for x in GRID])


@lru_cache(maxsize=256)
def range_in_sigmas(n: int) -> float:
    """Expected range of n normal samples in standard deviations (Tippett 1925; d2 of control charts)."""
    below = _below()
    outside = 1.0 - below**n - (1.0 - below) ** n
    return float(np.trapezoid(outside, GRID))


def median_error_pct(n: int, spread_pct: float) -> float:
    """Standard error of a candidate's median, percent of it; infinite where one sample tells no spread."""
    if n < 2:
        return float("inf")
    return MEDIAN_EFFICIENCY * spread_pct / range_in_sigmas(n) / n**0.5


def median_errors_pct(evidence: Evidence) -> Floats:
    """(candidates,) standard errors of the medians, percent."""
    return np.array([median_error_pct(c.n, c.spread_pct) for cell in evidence.cells for c in cell.candidates])


def pair_noise_pct(evidence: Evidence, pairs: Pairs) -> Floats:
    """(pairs,) two standard errors of the difference of two medians, percent."""
    errors = median_errors_pct(evidence)
    return NOISE_SIGMAS * np.hypot(errors[pairs.first], errors[pairs.second])
