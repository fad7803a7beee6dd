"""Old versions are lifted step by step; newer ones are refused."""

import pytest

from schemas import InvalidInputError
from tracker.log import upcast

UPCASTS = {
    ("cell.started", 1): lambda data: {**data, "engine": "local"},
    ("cell.started", 2): lambda data: {"cell": data["name"], "engine": data["engine"]},
}


@pytest.fixture
def event(log):
    with log.open_segment("quick", "attempt") as writer:
        return writer.append("cell.started", {"name": "a"})


def test_each_step_is_taken(event):
    lifted = upcast(event, UPCASTS)
    assert (lifted.version, lifted.data) == (3, {"cell": "a", "engine": "local"})
    assert lifted.digest == event.digest
    assert event.data == {"name": "a"}


def test_the_current_version_is_left_alone(event):
    current = event.model_copy(update={"version": 3})
    assert upcast(current, UPCASTS) is current
    assert upcast(event) is event


def test_a_newer_version_is_refused(event):
    with pytest.raises(InvalidInputError, match="version 4 is newer than this program knows"):
        upcast(event.model_copy(update={"version": 4}), UPCASTS)
