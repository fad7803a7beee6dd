"""How uncertain a measured median is."""

from functools import cache, lru_cache
from math import erfc, sqrt

import numpy as np
import numpy.typing as npt

MEDIAN_EFFICIENCY = 1.2533
"""Standard error of a median over that of a mean, for normal samples: sqrt(pi / 2)."""
GRID = np.linspace(-9.0, 9.0, 3_601)
"""Standard deviations over which ranges are integrated; the rest is below 1e-15."""


@cache
def _below() -> npt.NDArray[np.float64]:
    """Share of a normal population below each point of the grid."""
    return np.array([erfc(-x / sqrt(2.0)) / 2 for x in GRID])


@lru_cache(maxsize=256)
def range_in_sigmas(n: int) -> float:
    """Expected range of n normal samples in standard deviations (Tippett 1925; d2 of control charts)."""
    below = _below()
    outside = 1.0 - below**n - (1.0 - below) ** n
    return float(np.trapezoid(outside, GRID))


@lru_cache(maxsize=256)
def error_freedom(n: int) -> float:
    """Degrees of freedom of a standard error that is taken from the range of n samples, 2 or more.

    Those of the chi distribution whose mean and variance stand in the same relation as the range's
    (Patnaik 1950), by its first two terms: for n from 3 to 10 within 0.1 of the tables.
    """
    below, step = _below()[::6], float(GRID[6] - GRID[0])
    inside = np.maximum(below[None, :] - below[:, None], 0.0)
    outside = 1.0 - below[None, :] ** n - (1.0 - below[:, None]) ** n + inside**n
    square = 2.0 * float(np.triu(outside, 1).sum() + outside.trace() / 2) * step**2
    mean = range_in_sigmas(n)
    return (mean**2 / (square - mean**2) + 0.5) / 2


def median_error_pct(n: int, spread_pct: float) -> float:
    """Standard error of a candidate's median, percent of it; infinite where one sample tells no spread."""
    if n < 2:
        return float("inf")
    return MEDIAN_EFFICIENCY * spread_pct / range_in_sigmas(n) / n**0.5
