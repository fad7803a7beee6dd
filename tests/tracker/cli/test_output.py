"""Tables and progress on a terminal, plain lines in a pipe; by a real pipe and a real terminal."""

import os
import pty
import re
import select
import subprocess
import sys

import pytest

from tracker.cli._output import print_table

PROGRESS = """
from tracker.cli._output import progress, say
with progress() as bar:
    task = bar.add_task("segments", total=3)
    for _ in range(3):
        bar.update(task, advance=1)
say("done")
"""


TABLE = """
from tracker.cli._output import print_table
print_table("A title that is wider than the little table", ("a",), [(1,)])
keys = [f"grpo-{n}x6|attention-tiny|L4|tp1|cp1" for n in range(3)]
columns = ("cell", "held_out", "exclusion_reason", *(f"more_{n}" for n in range(4)))
print_table("", columns, [(key, True, "the machine was not quiet", *range(4)) for key in keys])
"""


def environment(store, **more):
    base = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    return {**base, "LAYOUTLEDGER_STORE": str(store), "TERM": "xterm-256color", "COLUMNS": "200", **more}


def piped(arguments, store):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment(store), timeout=400
    )


def on_terminal(arguments, store, **more):
    """What a person sees: both streams of a process that has a terminal, and its exit code."""
    main, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *arguments], stdin=side, stdout=side, stderr=side, env=environment(store, **more)
    )
    os.close(side)
    seen = b""
    while select.select([main], [], [], 400)[0]:
        try:
            data = os.read(main, 65_536)
        except OSError:
            break
        if not data:
            break
        seen += data
    os.close(main)
    return process.wait(400), seen.decode()


VERB = ["-m", "tracker", "errors"]


def test_a_pipe_gets_tabs_and_no_escape(tmp_path):
    done = piped(VERB, tmp_path)
    lines = done.stdout.splitlines()
    assert lines[0] == "code\terror\tmeaning"
    assert all(line.count("\t") == 2 for line in lines)
    assert "\x1b" not in done.stdout + done.stderr


def test_a_terminal_gets_a_table(tmp_path):
    code, seen = on_terminal(VERB, tmp_path)
    assert code == 0
    assert "┃" in seen and "\x1b[" in seen and "\t" not in seen


def test_a_narrow_terminal_breaks_neither_keys_nor_titles(tmp_path):
    code, seen = on_terminal(["-c", TABLE], tmp_path, COLUMNS="80")
    assert code == 0
    assert "A title that is wider than the little table" in seen
    assert all(f"grpo-{n}x6|attention-tiny|L4|tp1|cp1 " in seen for n in range(3))
    plain = re.sub(r"\x1b\[[0-9;]*m", "", seen)
    assert max(map(len, plain.splitlines())) <= 80


def test_progress_is_drawn_on_a_terminal_alone(tmp_path):
    code, seen = on_terminal(["-c", PROGRESS], tmp_path)
    assert code == 0 and "segments" in seen and "3/3" in seen
    done = piped(["-c", PROGRESS], tmp_path)
    assert (done.stdout, done.stderr) == ("", "done\n")


def test_a_reader_that_goes_away_ends_the_verb_quietly(tmp_path):
    command = f"{sys.executable} -m tracker errors --messages | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, env=environment(tmp_path)
    )
    assert done.stdout == "code\twhere\ttext\n" and "Traceback" not in done.stderr
    assert done.returncode == 141


@pytest.mark.parametrize("value", ["two\nlines", "a\ttab", "\x1b[31mred", "a\rreturn"])
def test_a_value_cannot_break_its_row_or_colour_the_terminal(capsys, value):
    print_table("", ("a", "b"), [(value, 1.5), (None, 2)])
    lines = capsys.readouterr().out.split("\n")
    assert len(lines) == 4 and lines[1].endswith("\t1.50") and "\x1b" not in lines[1]
    assert lines[2] == "-\t2"
