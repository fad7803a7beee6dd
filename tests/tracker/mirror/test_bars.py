"""Bars are the same bytes everywhere, in proportion, and what they show is escaped."""

import re
from xml.etree import ElementTree

from tracker.mirror._bars import bars


def lengths(svg: str) -> list[int]:
    return [int(width) for width in re.findall(r'<rect [^>]*width="(\d+)"', svg)]


def test_a_bar_is_as_long_as_its_value_is_of_the_greatest():
    assert lengths(bars("t", "%", [("a", 2.0), ("b", 4.0), ("c", 0.0)])) == [160, 320, 0]
    assert lengths(bars("t", "%", [("a", 0.0)])) == [0]
    assert lengths(bars("t", "%", [])) == []


def test_labels_are_text_whatever_they_hold():
    svg = bars("<b>", "%", [("<script>&\"'", 1.0)])
    root = ElementTree.fromstring(svg)
    assert "<script>&\"'" in [element.text for element in root.iter()]
    assert "<script>" not in svg
