"""Whatever a name holds, it is drawn as text; contrast and coordinates are what they are said to be."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.figures import _canvas
from tracker.figures._canvas import Canvas, px, shorten
from tracker.figures._terms import COLOURS

HOSTILE = "</title><script>alert(1)</script>&\"'\x00\u202e]]>"


def test_text_is_text_whatever_it_holds():
    canvas = Canvas("x", HOSTILE, HOSTILE, 100, 100)
    canvas.text(0, 10, HOSTILE)
    canvas.name(0, 20, HOSTILE, width=1000)
    canvas.dot(0, 0, _canvas.BLUE, HOSTILE)
    root = ElementTree.fromstring(canvas.svg())
    assert {element.tag.rpartition("}")[2] for element in root.iter()} == {
        "svg", "title", "desc", "rect", "text", "circle",
    }  # fmt: skip
    texts = [element.text for element in root.iter() if element.text and "script" in element.text]
    assert texts and all("<script>alert(1)</script>&\"'\ufffd" in text for text in texts)


@given(st.text(max_size=80), st.integers(5, 40))
def test_a_shortened_name_keeps_its_beginning_and_end(text, letters):
    found = shorten(text, letters)
    assert len(found) <= max(letters, 3)
    if len(text) > letters:
        head, _, tail = found.partition("…")
        assert text.startswith(head) and (text.endswith(tail) or "…" in text)
    else:
        assert found == text


def test_coordinates_are_short():
    assert [px(value) for value in (1, 1.04, 1.25, -0.04)] == ["1", "1", "1.2", "0"]


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colour: str) -> float:
    return 1.05 / (luminance(colour) + 0.05)


@pytest.mark.parametrize("name", ["BLUE", "VERMILLION", "GREEN", "GREY", "INK", "PALE"])
def test_marks_and_words_stand_out_on_white(name):
    # WCAG 2.2: 3 for what is drawn, 4.5 for words; the words are INK and PALE.
    assert contrast(getattr(_canvas, name)) > (4.5 if name in ("INK", "PALE") else 3)


def test_bars_of_terms_stand_out_on_white():
    assert len(set(COLOURS)) == len(COLOURS)
    assert min(map(contrast, COLOURS)) > 2, "pieces are divided by white, named and numbered beside"
