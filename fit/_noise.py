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


def median_error_pct(n: int, spread_pct: float) -> float:
    """Standard error of a candidate's median, percent of it; infinite where one sample tells no spread."""
    if n < 2:
        return float("inf")
    return MEDIAN_EFFICIENCY * spread_pct / range_in_sigmas(n) / n**0.5
