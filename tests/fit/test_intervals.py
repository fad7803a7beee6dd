import pytest

from fit._intervals import interval, mean_interval, resamples


def test_resamples_are_the_same_every_time_and_of_full_size():
    first, again = resamples(7, 5), resamples(7, 5)
    assert first == again
    assert all(len(draw) == 7 and set(draw) <= set(range(7)) for draw in first)
    assert len(set(first)) > 1
    assert resamples(7, 5, seed=1) != first


def test_interval_holds_the_middle_95_percent():
    found = interval(50.0, [float(v) for v in range(101)])
    assert (found.value, found.low, found.high) == (50.0, 2.5, 97.5)


def test_interval_without_resamples_is_a_point():
    assert interval(3.0, []) == interval(3.0, [3.0])


def test_interval_of_a_mean_narrows_with_more_cells():
    few = mean_interval([0.0, 1.0] * 4, resamples(8, 400))
    many = mean_interval([0.0, 1.0] * 64, resamples(128, 400))
    assert few.value == many.value == 0.5
    assert many.high - many.low < (few.high - few.low) / 2


def test_interval_of_a_mean_is_about_two_standard_errors():
    values = [float(v % 10) for v in range(200)]
    found = mean_interval(values, resamples(200, 1000))
    assert found.high - found.low == pytest.approx(2 * 1.96 * 2.872 / 200**0.5, rel=0.1)
