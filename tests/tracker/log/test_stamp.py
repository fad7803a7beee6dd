"""Ids are ULIDs, ascend, and carry the time that stands beside them."""

from datetime import datetime

from ulid import ULID

from tracker.log import _stamp
from tracker.log._stamp import Stamps


def test_ids_are_ulids_that_ascend_with_their_time():
    stamps = Stamps()
    made = [stamps.next() for _ in range(5000)]
    ids = [identifier for identifier, _ in made]
    assert ids == sorted(set(ids))
    for identifier, time in made[::97]:
        parsed = ULID.from_str(identifier)
        assert str(parsed) == identifier
        assert abs(parsed.timestamp - datetime.fromisoformat(time).timestamp()) < 0.0011


def test_a_clock_set_back_takes_no_id_back(monkeypatch):
    clock = iter([5_000_000_000_123_456, 5_000_000_000_123_456, 4_000_000_000_000_000, 5_000_001_000_000_000])
    monkeypatch.setattr(_stamp, "time_ns", lambda: next(clock))
    stamps = Stamps()
    made = [stamps.next() for _ in range(4)]
    assert [identifier for identifier, _ in made] == sorted({identifier for identifier, _ in made})
    assert made[0][1] == "1970-02-27T20:53:20.000123Z"
    assert made[2][1] == "1970-02-16T07:06:40.000000Z"


def test_two_sources_do_not_meet():
    assert {Stamps().next()[0] for _ in range(1000)}.__len__() == 1000


def test_many_ids_at_once_ascend_between_those_before_and_after():
    stamps = Stamps()
    before, _ = stamps.next()
    many, time = stamps.many(3000)
    after, later = stamps.next()
    ids = [before, *many, after]
    assert ids == sorted(set(ids)) and time <= later
    assert [str(ULID.from_str(identifier)) for identifier in many] == many
    assert stamps.many(0)[0] == []
    assert stamps.next()[0] > after
