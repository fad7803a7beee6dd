"""Names and reasons from evidence change nothing on the terminal that shows them."""

import os
import pty
import subprocess
import sys

import pytest

from tracker.cli._visible import visible, visible_line

HOSTILE = "\x1b[31m\x9b2J\x07\b\r\u202e\u2066\u2028\x7f\ud800"
SHOWN = r"\x1b[31m\x9b2J\x07\x08\r\u202e\u2066\u2028\x7f\ud800"

PROGRAM = r"""
import click
from schemas import InvalidInputError
from tracker.cli._boundary import run
from tracker.cli._output import print_table, progress, say

@click.command()
def hostile():
    name = "a[/b]\x1b]0;owned\x07\u202e"
    with progress() as bar:
        bar.add_task(name, total=1)
    say(name)
    print_table("", ("name",), [(name,)])
    raise InvalidInputError(name)

run(hostile)
"""


def test_what_a_terminal_would_obey_is_shown_and_lines_stay() -> None:
    assert visible(HOSTILE) == visible_line(HOSTILE) == SHOWN
    assert visible("a\tb\nc") == "a\tb\nc"
    assert visible_line("a\tb\nc") == r"a\tb\nc"
    assert visible("gr\u00fc\u00df, \u6f22\u5b57 \U0001f600") == "gr\u00fc\u00df, \u6f22\u5b57 \U0001f600"


@pytest.mark.parametrize("terminal", [False, True])
def test_lines_tables_and_errors_show_a_hostile_name_as_it_is(terminal: bool) -> None:
    main, side = pty.openpty() if terminal else os.pipe()
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=side, stderr=side)
    os.close(side)
    said = b""
    try:
        while part := os.read(main, 65536):
            said += part
    except OSError:
        pass  # a terminal whose other side is gone
    finally:
        os.close(main)
    assert process.wait(400) == 2
    text = said.decode()
    assert text.count(r"a[/b]\x1b]0;owned\x07\u202e") >= 3
    assert not {"\x07", "\u202e", "\x1b]"} & {*text, *(text[n : n + 2] for n in range(len(text)))}
