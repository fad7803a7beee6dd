"""`config`, `completion`, `errors`: settings as they hold, real shells, and the exit-code table."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tracker._error_pages import error_classes, exit_codes, read_messages, render_page
from tracker.cli._boundary import EXIT_CODES

REPOSITORY = Path(__file__).resolve().parents[3]
PROGRAM = Path(sys.executable).with_name("layoutledger")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A working directory whose settings file names the ledger and a tracking server."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "layoutledger.toml").write_text(
        'store = "from-file"\nby = "ann"\ntracking_uri = "http://ann:hunter2@tracking:5000"\n'
    )
    return tmp_path


def shown(call, *arguments):
    found = json.loads(call("config", "show", "--json", *arguments).out)
    return {each["name"]: (each["value"], each["source"]) for each in found}


def test_settings_are_shown_with_where_they_come_from(call, project, tmp_path):
    path = str(project / "layoutledger.toml")
    assert shown(call)["store"] == (str(tmp_path / "ledger"), "LAYOUTLEDGER_STORE")
    assert shown(call, "--store", "elsewhere")["store"] == ("elsewhere", "command line")
    assert shown(call)["by"] == ("ann", path)
    assert shown(call)["tracking_uri"] == ("http://***@tracking:5000", path)
    assert "hunter2" not in call("config", "show").out


def test_what_a_file_says_holds_for_the_verbs_and_is_forgotten_after(call, known, project, monkeypatch):
    monkeypatch.delenv("LAYOUTLEDGER_STORE")
    (project / "layoutledger.toml").write_text(f'store = "{known.store}"\nby = "ann"\n')
    cell = known.manifest("known").keys[0]
    assert json.loads(call("exclude", "known", cell, "--reason", "r", "--json").out)["by"] == "ann"
    said = json.loads(
        call(
            "exclude", "known", known.manifest("known").keys[1], "--reason", "r", "--by", "bob", "--json"
        ).out
    )
    assert said["by"] == "bob"
    assert "LAYOUTLEDGER_BY" not in os.environ and "LAYOUTLEDGER_STORE" not in os.environ


def test_a_wrong_file_ends_a_verb_before_it_begins(call, known, project):
    (project / "layoutledger.toml").write_text("by = 7\n")
    before = known.log.segments()
    outcome = call("exclude", "known", known.manifest("known").keys[0], "--reason", "r")
    assert outcome.code == 2 and "layoutledger.toml:1: by" in outcome.err
    assert known.log.segments() == before
    assert call("errors").code == 0


def test_the_exit_codes_of_the_page_the_help_and_the_classes_agree(call):
    codes = {each.code for each in exit_codes()}
    assert codes == {int(code) for code in re.findall(r"(?:: |;\s)(\d+) ", EXIT_CODES)}
    assert {kind.exit_code for kind in error_classes()} <= codes
    assert (REPOSITORY / "docs" / "errors.md").read_text().endswith(render_page())
    assert json.loads(call("errors", "--json").out) == [
        {"code": each.code, "error": each.name, "meaning": each.meaning} for each in exit_codes()
    ]


def test_every_message_is_listed_and_says_of_what_it_is(call):
    messages = read_messages()
    assert len(messages) > 150
    vague = [each for each in messages if "…" not in each.text and len(each.text.split()) < 6]
    assert vague == []
    assert len(call("errors", "--messages").out.splitlines()) == len(messages) + 1


def complete_in_bash(store, words, folder, cursor=None):
    """What bash offers for the last word, by the script that the program prints."""
    line = " ".join(f"'{word}'" for word in words)
    script = f"""
eval "$(layoutledger completion bash)"
COMP_WORDS=({line}); COMP_CWORD={cursor or len(words) - 1}; COMPREPLY=()
_layoutledger_completion layoutledger
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    environment = {
        **os.environ,
        "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}",
        "LAYOUTLEDGER_STORE": str(store),
    }
    done = subprocess.run(
        ["bash", "--norc", "-c", script], capture_output=True, text=True, env=environment, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


@pytest.mark.skipif(shutil.which("bash") is None or not PROGRAM.exists(), reason="no bash, or not installed")
def test_bash_completes_verbs_options_campaigns_and_cells(known, tmp_path):
    store = known.store

    def offered(*words):
        return complete_in_bash(store, ["layoutledger", *words], tmp_path)

    assert offered("camp") == ["campaign"]
    assert offered("campaign", "status", "k") == ["known"]
    assert "--reason" in offered("exclude", "known", "x", "--r")
    cells = [f"'{key}'" for key in sorted(known.manifest("known").keys)]
    assert sorted(offered("exclude", "known", "")) == cells


def test_completions_come_from_the_log_and_never_fail(certified, issued, store, monkeypatch):
    import click

    from tracker.cli import _complete as complete
    from tracker.cli import cli
    from tracker.log import Log

    context = click.Context(cli)
    digest = issued.stem.removeprefix("known-")

    def values(completer, beginning=""):
        return [item.value for item in completer(context, cli.params[0], beginning)]

    monkeypatch.setenv("LAYOUTLEDGER_STORE", str(store))
    assert values(complete.campaigns) == ["known"]
    assert sorted(values(complete.cells, "held")) == [
        k for k in certified.manifest("known").keys if k[:4] == "held"
    ]
    assert values(complete.certificates) == [digest]
    registered = {"model": "layout-cost", "version": 2, "bundle_digest": "b", "tables": []}
    with Log(store).open_segment("layout-cost", "registration") as segment:
        segment.append("version.registered", registered)
    assert values(complete.versions) == ["2"] and values(complete.held) == ["2", digest]
    assert values(complete.aliases, "c") == ["champion", "candidate"]
    assert "cpu-quick" in values(complete.campaigns_or_files, "cpu")
    monkeypatch.setenv("LAYOUTLEDGER_STORE", str(store / "nowhere"))
    assert values(complete.cells) == values(complete.versions) == []
    next(iter(Log(store).segments())).path.write_text("no json\nno json\n")
    monkeypatch.setenv("LAYOUTLEDGER_STORE", str(store))
    assert values(complete.cells) == []


@pytest.mark.parametrize(("shell", "says"), [("zsh", "compdef"), ("fish", "complete --no-files")])
def test_other_shells_get_their_script(call, shell, says):
    outcome = call("completion", shell)
    assert outcome.code == 0 and says in outcome.out and outcome.out.startswith("# ")
