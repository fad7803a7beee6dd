import shutil
from pathlib import Path

import pytest

from tracker._ledger import Ledger
from tracker.drift import production_drift

SINCE = "2030-01-02T00:00:00.000000Z"


@pytest.fixture(scope="module")
def standing(tmp_path_factory) -> Path:
    """The views of an empty ledger: made once, they are quickly put over other files."""
    store = tmp_path_factory.mktemp("standing") / "ledger"
    Ledger(store).warehouse.refresh()
    return store


@pytest.fixture
def ledger(standing, tmp_path) -> Ledger:
    """A ledger of its own: these tests write."""
    return Ledger(Path(shutil.copytree(standing, tmp_path / "ledger")))


def tell(ledger, *steps, run: str = "production", **closing) -> None:
    """Observations as the trainer's observer writes them."""
    with ledger.log.open_segment(run, "selection") as segment:
        segment.append_many("selection.observed", [step(**each) for each in steps])
        counts = {"recorded": len(steps), "dropped": 0, "unwritten": 0, "refused": 0, **closing}
        segment.append("selection.closed", {**counts, "observed": sum(counts.values())})


def step(ms: float, predicted_us: float | None, day: int = 1, **more):
    facts = {"tp": 1, "cp": 2, "layers": 4, "gdn_layers": 3, "uses_gdn": True}
    known = {"candidate": "full_sharing", "version": 2, "table_id": "t", "facts": facts}
    return {
        **known,
        "ms": ms,
        "predicted_us": predicted_us,
        "at": f"2030-01-{day:02}T12:00:00.000000Z",
        **more,
    }


def test_nothing_told_is_none(ledger):
    assert production_drift(ledger, SINCE) is None


def test_ratios_are_compared_by_version_table_and_place_before_and_after(ledger):
    steps = [
        {"ms": predicted / 1000 * factor * (1 + wobble), "predicted_us": predicted, "day": day}
        for day, factor in ((1, 2.0), (3, 2.5))
        for predicted in (10_000, 20_000, 40_000)
        for wobble in (-0.01, 0.0, 0.01)
    ]
    tell(ledger, *steps, {"ms": 5.0, "predicted_us": 5_000, "cell": "a|b"}, {"ms": 1.0, "predicted_us": None})
    found = production_drift(ledger, SINCE)
    assert (found.steps, found.unpriced, found.lost) == (19, 1, 0)
    cell, shape = found.places
    assert (cell.place, cell.change) == ("version 2, t, a|b", None)
    assert (shape.place, shape.earlier, shape.steps) == ("version 2, t, tp1|cp2 L4", 9, 18)
    assert shape.change.change_pct == pytest.approx(25)
    assert shape.change.moved


def test_a_version_can_be_looked_at_alone(ledger):
    tell(ledger, {"ms": 1.0, "predicted_us": 1.0}, {"ms": 1.0, "predicted_us": 1.0, "version": 3})
    assert production_drift(ledger, SINCE, version=3).steps == 1


def test_alternatives_of_the_same_batch_are_compared(ledger):
    pairs = [
        {"ms": ms, "predicted_us": 1.0, "batch": str(number), **more}
        for number in range(4)
        for ms, more in (
            (12.0 + number / 10, {}),
            (10.0, {"candidate": "no_sharing", "selected": "full_sharing"}),
        )
    ]
    tell(ledger, *pairs)
    (each,) = production_drift(ledger, SINCE).alternatives
    assert (each.selected, each.tried, each.batches) == ("full_sharing", "no_sharing", 4)
    assert each.gain.change_pct == pytest.approx(21.5)


def test_what_was_lost_is_said_even_where_nothing_was_recorded(ledger):
    tell(ledger, dropped=3, unwritten=2, refused=1, run="trainer-7")
    found = production_drift(ledger, SINCE)
    assert (found.steps, found.lost, found.places) == (0, 6, ())
