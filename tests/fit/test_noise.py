import math

import numpy as np
import pytest

from fit._noise import median_error_pct, range_in_sigmas


@pytest.mark.parametrize(
    ("n", "d2"), [(2, 1.128), (3, 1.693), (5, 2.326), (8, 2.847), (10, 3.078), (15, 3.472), (25, 3.931)]
)
def test_expected_range_is_the_control_charts_constant(n, d2):
    assert range_in_sigmas(n) == pytest.approx(d2, abs=6e-4)


def test_error_of_a_median_is_what_resampling_shows():
    rng = np.random.default_rng(0)
    samples = rng.normal(100.0, 2.0, size=(40_000, 9))
    medians = np.median(samples, axis=1)
    spread = np.ptp(samples, axis=1).mean() / 100.0 * 100
    # 1.2533 is the large-sample ratio: at nine samples it stands a few percent high.
    assert median_error_pct(9, spread) == pytest.approx(medians.std(), rel=0.05)


def test_one_sample_tells_no_noise():
    assert median_error_pct(1, 0.0) == math.inf
