"""Prepared templates spell what the reference spells, to the byte, and refuse what it refuses."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import InvalidInputError, canonical_json
from tracker.log import read_segment
from tracker.log._spelling import TEMPLATES, Speller

NUMBERS = st.one_of(
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([-0.0, 1e-4, 1e-5, 2.0**53]),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, st.text())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
KEYS = st.text(alphabet='aB%"\\\n_é\U0001f600\ue000', max_size=3) | st.text(max_size=4)


@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=5), min_size=1, max_size=4))
def test_the_bytes_are_those_of_the_reference(objects):
    speller = Speller()
    for each in (*objects, *objects):
        assert speller.spell(each) == canonical_json(each)


TRICKY = st.sampled_from(["1.0,", "-0.0]", "null", "1e5", "2.0}", '"', "\x7f\x1f\u2028", "\U0001f600", "NaN"])
FLOATS = (
    st.floats(allow_nan=False, allow_infinity=False)
    | st.floats(1e-7, 1e-3)
    | st.floats(-(2.0**60), 2.0**60).map(float.__round__).map(float)
    | st.sampled_from([0.0, -0.0, 1e-4, -1e-4, 9.999e-5, 1e15, 2.0**53 - 1, 2.0**53, 1e16, 1e21])
)
FLAT = st.none() | st.booleans() | st.integers() | st.integers(2**53 - 2, 2**53 + 2) | FLOATS | TRICKY


@given(st.lists(st.dictionaries(st.sampled_from("abc%"), FLAT | st.lists(FLAT, max_size=4)), max_size=4))
def test_flat_objects_are_spelled_as_the_reference_spells_them(objects):
    speller = Speller()
    for each in objects:
        flat = speller.spell_flat(each)
        assert flat in (None, canonical_json(each))
        assert speller.spell(each) == canonical_json(each)


@given(st.dictionaries(st.sampled_from("abc"), st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(1e-4, 1e15)))
def test_the_common_run_of_numbers_is_spelled_flat(data):
    assert Speller().spell_flat(data) == canonical_json(data)


@given(st.dictionaries(st.sampled_from(["b", "a", "%s", 'q"']), NUMBERS, min_size=2), st.randoms())
def test_the_order_of_keys_does_not_matter(data, random):
    speller, items = Speller(), list(data.items())
    random.shuffle(items)
    assert speller.spell(dict(items)) == speller.spell(data) == canonical_json(data)


def test_a_sample_takes_the_prepared_way(monkeypatch):
    monkeypatch.setattr("tracker.log._spelling.canonical_json", lambda data: pytest.fail("not prepared"))
    data = {"ms": 12.5, "round": 3, "usable": True, "reason": None, "ms_ranks": (1.0, 2.25), "cell": "a%s"}
    assert Speller().spell(data) == (
        b'{"cell":"a%s","ms":12.5,"ms_ranks":[1,2.25],"reason":null,"round":3,"usable":true}'
    )


def test_a_nested_object_takes_a_template(monkeypatch):
    monkeypatch.setattr("tracker.log._spelling.canonical_json", lambda data: pytest.fail("not prepared"))
    data = {"b": {"y": 1.0, "x": [{"q": None, "p": 0.5}]}, "a": "%"}
    assert Speller().spell(data) == b'{"a":"%","b":{"x":[{"p":0.5,"q":null}],"y":1}}'


@pytest.mark.parametrize("value", [math.nan, math.inf, object(), "\ud800", {1: 2, 3: 4}, b"x"])
def test_what_the_reference_refuses_is_refused(value):
    with pytest.raises(InvalidInputError):
        Speller().spell({"a": 1, "b": value})


def test_ever_new_keys_take_no_memory():
    speller = Speller()
    for number in range(3 * TEMPLATES):
        speller.spell({"a": 1, f"b{number}": 2})
        speller.spell({"a": {}, f"b{number}": 2})
    assert len(speller._templates) <= TEMPLATES
    assert len(speller._flats) <= TEMPLATES


def test_a_recorded_event_reads_like_an_appended_one(log):
    data = {"ms": 1.5, "ms_ranks": (1, 2.0), "big": 2**60, "text": "é\x00"}
    with log.open_segment("quick", "attempt") as writer:
        event = writer.append("sample.recorded", data, durable=False)
        assert writer.record("sample.recorded", data, durable=False) is None
        with pytest.raises(InvalidInputError):
            writer.record("segment.sealed", {})
        with pytest.raises(InvalidInputError):
            writer.record("sample.recorded", {"ms": math.nan, "b": 1})
    _, first, second, _ = read_segment(log.find(writer.segment).path)
    assert first == event
    assert (second.type, second.data, second.seq) == (event.type, event.data, 2)
