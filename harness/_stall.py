"""Sporadic stalls: samples so far above their candidate's median that something else must have happened."""

from collections.abc import Sequence
from statistics import median

LEAST_RATIO = 1.5
LEAST_MADS = 5.0
SPORADIC = 5


def stalled(times: Sequence[float]) -> list[bool]:
    """Whether each of a candidate's times is a stall: above 1.5 medians and over 5 MADs from the median.

    MAD: median absolute deviation from the median. Where more than one in five is so far off, the candidate
    scatters, and none is a stall. The view `stalls` holds the same rule. A stalled sample stays evidence, and
    stays usable: to take samples out for their times is to choose the result, and a median hardly sees them.

    Args:
        times: milliseconds of one candidate's usable measured samples, in any order.

    """
    if not times:
        return []
    middle = median(times)
    mad = median(abs(time - middle) for time in times)
    far = [time > LEAST_RATIO * middle and time - middle > LEAST_MADS * mad for time in times]
    return far if sum(far) <= max(1, len(far) // SPORADIC) else [False] * len(far)
