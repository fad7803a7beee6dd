"""The envelope: what a line looks like, what it says of itself."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from schemas import Event, canonical_json, digest_bytes, genesis_digest, is_campaign_name, is_segment_id

MEMBERS = {
    "id": "01M8NW5A2J6XX8AD8WWEEKF8GB",
    "type": "cell.started",
    "version": 1,
    "source": {"host": "h", "pid": 7, "tool": "layoutledger 0.1.0"},
    "subject": {"campaign": "quick", "segment": "01M8NW5A2J6XX8AD8WWEEKF8GB", "é": '"'},
    "time": "2026-11-30T09:21:47.090813Z",
    "data": {"ms": 1.5},
    "seq": 3,
    "prev": "0" * 64,
    "digest": "f" * 64,
}
texts = st.text().filter(lambda text: text.isprintable())


@given(
    data=st.dictionaries(texts, st.integers(-9, 9) | st.floats(-9, 9) | texts),
    subject=st.dictionaries(texts, texts),
    host=texts,
)
def test_a_line_is_the_canonical_json_of_all_members(data, subject, host):
    members = {**MEMBERS, "data": data, "subject": subject, "source": {**MEMBERS["source"], "host": host}}
    event = Event.model_validate(members)
    assert event.line() == canonical_json(members)
    assert event.line() == canonical_json(event.plain())
    del members["digest"]
    assert event.computed_digest() == digest_bytes(canonical_json(members))


def test_the_digest_is_over_the_line_without_it():
    event = Event.model_validate(MEMBERS)
    without = {key: value for key, value in MEMBERS.items() if key != "digest"}
    text = json.dumps(without, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert event.computed_digest() == hashlib.sha256(text.encode()).hexdigest()
    other = event.model_copy(update={"digest": "e" * 64})
    assert other.computed_digest() == event.computed_digest()


def test_an_event_cannot_be_changed():
    event = Event.model_validate(MEMBERS)
    with pytest.raises(ValidationError):
        event.seq = 4


@pytest.mark.parametrize("name", MEMBERS)
def test_every_member_is_needed(name):
    with pytest.raises(ValidationError, match=name):
        Event.model_validate({key: value for key, value in MEMBERS.items() if key != name})


def test_the_chain_begins_at_the_segment():
    assert genesis_digest(MEMBERS["id"]) == digest_bytes(MEMBERS["id"].encode())
    assert genesis_digest("a") != genesis_digest("b")


def test_a_line_is_one_line_whatever_it_holds():
    event = Event.model_validate({**MEMBERS, "data": {"text": "a\nb\r\u2028"}})
    assert b"\n" not in event.line() and b"\r" not in event.line()
    assert json.loads(event.line())["data"]["text"] == "a\nb\r\u2028"


@pytest.mark.parametrize("name", ["a", "cpu-quick", "h200.dense_h2560", "A1", "x" * 100])
def test_campaign_names(name):
    assert is_campaign_name(name)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "-a", "a.", "a..b", "a/b", "a\\b", "a\n", "a b", "é", "x" * 101, "_a"]
)
def test_names_that_are_no_campaigns(name):
    assert not is_campaign_name(name)


@pytest.mark.parametrize(
    "segment", ["", "x", "81M8NW5A2J6XX8AD8WWEEKF8GB", "01M8NW5A2J6XX8AD8WWEEKF8GB\n", "U" * 26]
)
def test_ids_that_are_no_ulids(segment):
    assert not is_segment_id(segment)
