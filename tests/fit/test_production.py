from random import Random

import pytest

from fit import Seen, alternatives, place_drifts

PLACE = "version 2, table, tp1|cp1 L4"


def steps(source: Random, count: int, layout: str = "a", factor: float = 1.0, **more) -> list[Seen]:
    """Steps that take 1.5 times as long as predicted, whatever their size, with 4% noise."""
    found = []
    for _ in range(count):
        predicted = source.uniform(5, 50)
        ms = 1.5 * factor * predicted * source.uniform(0.96, 1.04)
        found.append(Seen(more.get("place", PLACE), layout, ms, predicted, more.get("later", False)))
    return found


def test_a_ratio_that_stays_is_within_noise_whatever_its_value():
    source = Random(1)
    (found,) = place_drifts([*steps(source, 200), *steps(source, 100, later=True)])
    assert (found.place, found.steps, found.earlier) == (PLACE, 300, 200)
    assert found.ratio == pytest.approx(1.5, rel=0.02)
    assert not found.change.moved
    assert found.layouts == ()


def test_a_ratio_that_rose_has_moved():
    source = Random(1)
    (found,) = place_drifts([*steps(source, 200), *steps(source, 100, factor=1.2, later=True)])
    assert found.change.moved
    assert found.change.change_pct == pytest.approx(20, abs=2)


def test_without_steps_on_one_side_there_is_no_change_to_speak_of():
    (found,) = place_drifts(steps(Random(1), 5))
    assert found.change is None


def test_places_are_kept_apart():
    found = place_drifts([*steps(Random(1), 5), *steps(Random(2), 5, factor=3, place="another")])
    assert [(each.place, each.steps) for each in found] == [("another", 5), (PLACE, 5)]


def test_a_layout_that_the_table_prices_wrong_stands_out():
    source = Random(3)
    seen = [*steps(source, 50), *steps(source, 50, "b"), *steps(source, 20, "deep", factor=1.4)]
    (found,) = place_drifts(seen)
    moved = {each.layout: each.beside.change_pct for each in found.layouts if each.beside.moved}
    assert moved.keys() == {"deep"}
    assert moved["deep"] == pytest.approx(40, abs=4)


def tried(batch: str, selected_ms, tried_ms) -> list[Seen]:
    return [
        *(Seen(PLACE, "full", ms, 1.0, False, batch) for ms in selected_ms),
        *(Seen(PLACE, "none", ms, 1.0, False, batch, selected="full") for ms in tried_ms),
    ]


def test_an_alternative_is_compared_on_the_batches_that_ran_under_both():
    seen = [
        *tried("x", [11.0, 11.2], [10.0]),
        *tried("y", [22.0], [20.0, 20.2]),
        *tried("z", [5.4], [5.0]),
        *tried("only tried", [], [1.0]),
        Seen(PLACE, "none", 1.0, 1.0, False, None, selected="full"),
    ]
    (found,) = alternatives(seen)
    assert (found.selected, found.tried, found.batches) == ("full", "none", 3)
    assert found.gain.change_pct == pytest.approx(9.4, abs=1)
    assert found.gain.moved


def test_one_batch_tells_nothing():
    (found,) = alternatives(tried("x", [20.0], [10.0]))
    assert not found.gain.moved
