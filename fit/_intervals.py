"""Bootstrap intervals over cells: cells, not pairs, are what was drawn independently (Efron 1979)."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from fit._cells import Floats

LOW, HIGH = 2.5, 97.5


@dataclass(frozen=True, slots=True)
class Interval:
    """A value and the 95% percentile interval of its resamples."""

    value: float
    low: float
    high: float


def resamples(count: int, replicates: int, seed: int = 0) -> tuple[tuple[int, ...], ...]:
    """Places of ``count`` cells drawn with replacement, for each replicate; the same on every machine."""
    source = Random(seed)
    return tuple(tuple(sorted(int(source.random() * count) for _ in range(count))) for _ in range(replicates))


def interval(value: float, drawn: Sequence[float] | Floats) -> Interval:
    """The percentile interval of resampled values about the value itself."""
    if not len(drawn):
        return Interval(value, value, value)
    low, high = np.percentile(np.asarray(drawn, dtype=np.float64), [LOW, HIGH])
    return Interval(value, float(low), float(high))


def mean_interval(values: Sequence[float], draws: Sequence[Sequence[int]]) -> Interval:
    """The mean of one value a cell, and its interval over resampled cells."""
    each = np.array(values, dtype=np.float64)
    return interval(float(each.mean()), [float(each[list(draw)].mean()) for draw in draws])
