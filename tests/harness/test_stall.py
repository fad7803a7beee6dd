import numpy as np
import pytest

from harness._stall import stalled


@pytest.mark.parametrize(
    ("times", "flags"),
    [
        ([], []),
        ([3.0], [False]),
        ([10.0, 10.1, 9.9, 10.0, 40.0], [False] * 4 + [True]),
        # Above 1.5 medians, but so do they all scatter.
        ([10.0, 14.0, 6.0, 13.0, 16.0], [False] * 5),
        # Far off in MADs, but half above is no stall.
        ([10.0, 10.0, 10.0, 10.0, 15.0], [False] * 5),
        ([10.0, 10.0, 10.0, 10.0, 15.1], [False] * 4 + [True]),
        # Two of five are a habit, two of ten are not.
        ([10.0, 10.1, 30.0, 10.0, 40.0], [False] * 5),
        ([10.0, 10.1, 30.0, 10.0, 40.0, *[9.9] * 5], [False, False, True, False, True, *[False] * 5]),
        # A fast sample is no stall.
        ([10.0, 10.1, 9.9, 10.0, 1.0], [False] * 5),
    ],
)
def test_a_stall_is_far_off_both_in_medians_and_in_deviations(times, flags):
    assert stalled(times) == flags


def test_one_stall_moves_a_median_by_no_more_than_to_its_neighbour():
    draw = np.random.default_rng(7)
    for _ in range(200):
        times = draw.normal(100.0, 5.0, size=7)
        before = np.sort(times)
        times[draw.integers(7)] *= 6
        assert before[2] <= np.median(times) <= before[4]
        assert sum(stalled(times.tolist())) == 1


def test_a_rank_that_stops_for_a_second_stalls_one_sample_which_stays_and_moves_no_median(two_ranks):
    """SIGSTOP and SIGCONT of a real worker, under the clock of the first sample of the second round."""
    attempt = two_ranks.recorder.named("stall")
    (struck,) = [one for one in attempt.samples() if (one["round"], one["position"]) == (1, 0)]
    own = [one for one in attempt.samples() if one["candidate"] == struck["candidate"]]
    times = [one["ms"] for one in own]
    assert struck["ms"] > 1000
    assert struck["usable"]
    assert [flag for one, flag in zip(own, stalled(times), strict=True) if one["round"] == 1] == [True]
    # The median is a sample of the calm rounds, far below the stall.
    assert np.median(times) in [one["ms"] for one in own if one["round"] != 1]
    assert np.median(times) * 1.5 < struck["ms"]
    assert attempt.completion["usable"][struck["candidate"]] == 3
