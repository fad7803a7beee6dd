"""Canonical JSON is RFC 8785 byte for byte, whichever way it is made."""

import json
import math
from enum import StrEnum

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from schemas import InvalidInputError, canonical_json, digest_bytes, digest_file, digest_json

numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53) + 1, 2**53 - 1)
scalars = st.none() | st.booleans() | numbers | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)


@given(values)
def test_bytes_are_those_of_the_reference(value):
    assert canonical_json(value) == rfc8785.dumps(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_reads_back_as_itself(number):
    assert float(json.loads(canonical_json(number))) == number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (1e-4, "0.0001"),
        (9.9e-5, "0.000099"),
        (1e-7, "1e-7"),
        (2.0**53, "9007199254740992"),
        (1e21, "1e+21"),
        ('\x00\x1f\x7f"\\/é\u2028', '"\\u0000\\u001f\x7f\\"\\\\/é\u2028"'),
        ({"\U00010000": 1, "\uffff": 2, "b": 3, "a": 4}, '{"a":4,"b":3,"\U00010000":1,"\uffff":2}'),
        ((1, (2,)), "[1,[2]]"),
    ],
)
def test_spelling(value, text):
    assert canonical_json(value) == text.encode()


def test_integers_that_no_double_holds_become_strings():
    assert canonical_json([2**53 - 1, 2**53, -(2**53), 2**70]) == (
        b'[9007199254740991,"9007199254740992","-9007199254740992","1180591620717411303424"]'
    )


def test_an_enum_member_is_its_value():
    colour = StrEnum("colour", ["RED"])
    assert canonical_json({"c": colour.RED}) == b'{"c":"red"}'


@pytest.mark.parametrize(
    "value",
    [math.nan, -math.inf, {"a": [math.nan]}, {1: 2}, {"a": {1, 2}}, b"x", "\ud800", {"\ud800": 1}, object()],
    ids=repr,
)
def test_what_json_has_no_form_for_is_refused(value):
    with pytest.raises(InvalidInputError, match="canonical JSON"):
        canonical_json(value)


def test_a_value_that_holds_itself_is_refused():
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(InvalidInputError):
        canonical_json(loop)


def test_digests_are_sha256_of_the_canonical_bytes(tmp_path):
    (tmp_path / "f").write_bytes(b'{"a":1}')
    assert digest_json({"a": 1.0}) == digest_bytes(b'{"a":1}') == digest_file(tmp_path / "f")
    assert digest_bytes(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
