"""Rows spelled together read as rows spelled one by one by the reference, and odd ones are left to it."""

import math
from collections import OrderedDict
from enum import Enum
from uuid import UUID

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import canonical_json
from tests.tracker.log.test_spelling import FLAT, FLOATS, KEYS
from tracker.log._alike import spell_alike

TEXTS = st.sampled_from(["},{", "}", "{", ".0,", "1.0}", "\x00", "\ud800", "é\U0001f600\ue000"]) | st.text(
    max_size=4
)
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(1e-4, 2.0**53 - 1) | st.just(0.0)
NAMES = st.sampled_from("abc%")
PLAIN = st.none() | st.booleans() | NUMBERS | st.text('ab{,.0é\\" ', max_size=3)


def alike(columns: dict[str, st.SearchStrategy]) -> st.SearchStrategy:
    """An object of these keys in this order."""
    return st.tuples(*columns.values()).map(lambda values: dict(zip(columns, values, strict=True)))


def objects(columns: st.SearchStrategy, keys: st.SearchStrategy) -> st.SearchStrategy:
    """Lists of objects with the same keys, the values under one key of one kind."""
    made = st.dictionaries(keys, columns, min_size=1, max_size=4)
    nested = st.builds(lambda outer, inner: {**outer, "d": alike(inner)}, made, made)
    return (made | nested).flatmap(lambda each: st.lists(alike(each), min_size=1, max_size=4))


def reference(rows: list[dict]) -> list[str]:
    return [canonical_json(row).decode() for row in rows]


@given(objects(st.sampled_from([NUMBERS, FLOATS, FLAT, TEXTS, PLAIN, st.lists(FLAT, max_size=3)]), KEYS))
def test_rows_are_spelled_as_the_reference_spells_them_or_left_to_it(rows):
    spelled = spell_alike(rows)
    if spelled is not None:
        assert spelled == reference(rows)


@given(
    objects(st.sampled_from([NUMBERS, st.text("a{}.0", max_size=2), st.lists(NUMBERS, max_size=3)]), NAMES)
)
def test_the_common_run_of_rows_is_spelled_together(rows):
    assert spell_alike(rows) == reference(rows)


def test_rows_as_a_trainer_tells_them_are_spelled_together():
    facts = {"tp": 1, "cp": 2, "uses_gdn": True, "more": {"x": {}}}
    rows = [
        {"ms": ms, "facts": facts, "decisions": [3, 1], "batch": "é", "selected": None} for ms in (1.0, 2.5)
    ]
    assert spell_alike(rows) == reference(rows)
    assert spell_alike([{}, {}]) == ["{}", "{}"]


class Text(str):
    """Equal to its text, of another type."""


class Shade(Enum):
    """orjson would write the value."""

    DARK = 1


@pytest.mark.parametrize(
    "value",
    [
        *(math.nan, math.inf, -0.0, 1e-5, 2.0**53, 2**53, "\ud800", b"x", Text("x"), Shade.DARK, UUID(int=1)),
        *(
            [[1]],
            [{}],
            [math.nan],
            {1: 2},
            {"é": 1},
            OrderedDict(),
            orjson.Fragment(b"1"),
            {"a": {"a": {"a": {}}}},
        ),
    ],
)
def test_what_orjson_might_spell_otherwise_is_left_to_the_reference(value):
    rows = [{"a": 1, "b": 1.0}, {"a": 1, "b": value}]
    assert spell_alike(rows) is None
    assert spell_alike([{"a": 1, "b": value}]) is None


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [{"a": 1}, {"b": 1}],
        [{"a": 1, "b": 2}, {"b": 2, "a": 1}],
        [{"a": 1}, {Text("a"): 1}],
        [{"a": 1}, [1]],
        [{"a": "},{"}, {"a": 1}],
        [{"a": 1.0, "b": "1.0,"}],
        [{"a": 2.0, "b": ".0]"}, {"a": 2.5, "b": ""}],
    ],
)
def test_rows_that_differ_or_look_like_their_own_marks_are_left_to_the_reference(rows):
    assert spell_alike(rows) is None
