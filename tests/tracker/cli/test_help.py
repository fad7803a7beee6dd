"""Verbs are alike: each says what it does with an example, and what a script reads comes as JSON."""

import re
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from harness import load_campaign
from tracker.cli import cli

# What they print is one document already, or a program for a shell, a database or a person.
OTHERWISE = {
    "certificate export": "the certificate, JSON",
    "completion": "a shell's script",
    "export table": "--form json",
    "protect": "SQL",
    "prove": "the proof, JSON",
    "ui": "a server until it is ended; its address on standard output",
}


def leaves(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from leaves(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


VERBS = dict(leaves(cli))


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_shows_an_example_that_it_takes(verb):
    text = VERBS[verb].help or ""
    assert "Example" in text
    called = [line for line in text.splitlines() if f"layoutledger {verb.split()[0]}" in line]
    assert called, f"{verb}: its example does not call it"


@pytest.mark.parametrize("verb", sorted(set(VERBS) - set(OTHERWISE)))
def test_what_a_script_reads_comes_as_json(verb):
    assert "--json" in {name for param in VERBS[verb].params for name in param.opts}


def test_the_exceptions_are_real():
    assert set(OTHERWISE) <= set(VERBS)
    for verb in OTHERWISE:
        assert "--json" not in {name for param in VERBS[verb].params for name in param.opts}


@pytest.mark.parametrize("verb", VERBS)
def test_options_of_one_name_mean_the_same(verb):
    params = {name: param for param in VERBS[verb].params for name in param.opts}
    if "--store" in params:
        assert params["--store"].envvar == "LAYOUTLEDGER_STORE"
    if "--by" in params:
        assert params["--by"].envvar == "LAYOUTLEDGER_BY"
    if "--reason" in params:
        assert params["--reason"].required


def test_a_list_of_verbs_tells_each_first_sentence_whole():
    shown = CliRunner().invoke(cli, ["--help"], terminal_width=80).output
    commands = shown.split("Commands:")[1].split("Exit codes:")[0]
    told = " ".join(commands.split())
    assert "..." not in told
    assert "Take CELL out of CAMPAIGN's fit, with a reason; the certificate lists it." in told


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["stauts"], None),
        (["status"], "`layoutledger campaign status`"),
        (["promot"], "`layoutledger promote`"),
        (["campaign", "stauts"], "`layoutledger campaign status`"),
    ],
)
def test_an_unknown_verb_is_answered_with_what_may_be_meant(words, meant):
    done = CliRunner().invoke(cli, words, prog_name="layoutledger")
    assert done.exit_code == 2
    assert f"no verb '{words[-1]}'" in done.output
    assert meant is None or meant in done.output


def test_a_shipped_cell_is_the_one_that_an_example_names():
    named = {
        match[1]
        for command in VERBS.values()
        for match in re.finditer(r"""cpu-quick .*?["']([^"' ]*\\|[^"' ]*)["']""", command.help or "")
    }
    cells = {plan.identity.key for plan in load_campaign("cpu-quick").cells}
    assert named and named <= cells
