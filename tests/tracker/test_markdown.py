import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from tracker._markdown import escape_markdown


def test_plain_names_stay_readable():
    assert escape_markdown("grpo-2x8 minimum_effective_span_496, 3.5%") == (
        "grpo-2x8 minimum_effective_span_496, 3.5%"
    )


def test_markup_is_spelled_out():
    hostile = "<img src=x onerror=alert(1)> **b** [a](javascript:x) `c` # | ~~s~~ _e_ - 1. https://x.y www.z"
    escaped = escape_markdown(hostile)
    assert not re.search(r"[<>*\[\]()`|~]", escaped)
    assert "https:" not in escaped and "www." not in escaped
    assert unescape(escaped) == hostile


@given(st.text())
def test_the_reader_sees_the_text_on_one_line(text: str):
    escaped = escape_markdown(text)
    assert not re.search(r"[<>*\[\]()`|~\n\r\u202e]", escaped)
    assert escaped == "" or escaped[0] not in "-=#+>_"


def test_each_line_begins_no_list():
    assert unescape(escape_markdown("1. one")) == "1. one"
    assert "123." not in escape_markdown("123. one") and not escape_markdown("- one").startswith("-")
