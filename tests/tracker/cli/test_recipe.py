"""`recipe` and `campaign run --cell`: what runners are written with, and what they call."""

import json

import pytest

from harness.recipes import RUNNERS, write_recipe
from schemas import Manifest


@pytest.fixture
def file(campaigns, tmp_path):
    """The campaign `known`, as a file."""
    path = tmp_path / "known.toml"
    path.write_text(campaigns.TOML)
    return path


@pytest.mark.parametrize("engine", RUNNERS)
def test_runners_are_written_and_checked_and_again_nothing_changes(call, file, tmp_path, engine):
    folder = tmp_path / "runners"
    written = json.loads(call("recipe", file, "--engine", engine, "--output", folder, "--json").out)
    assert sorted(written["files"]) == sorted(map(str, folder.iterdir()))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for more in ((), ("--check",)):
        outcome = call("recipe", file, "--engine", engine, "--output", folder, *more)
        assert (outcome.code, outcome.out) == (0, "")
        assert "each of the 3 cells of known once" in outcome.err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_the_folder_is_named_for_the_campaign_unless_one_is_given(call, file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("recipe", file).code == 0
    assert sorted(path.name for path in (tmp_path / "recipes" / "known").iterdir()) == [
        "local.sh",
        "manifest.json",
    ]


def test_a_runner_that_lost_a_cell_is_told_by_its_check(call, file, tmp_path):
    assert call("recipe", file, "--output", tmp_path / "r").code == 0
    script = tmp_path / "r" / "local.sh"
    lines = script.read_text().splitlines(keepends=True)
    script.write_text("".join(line for line in lines if "held-grpo" not in line))
    outcome = call("recipe", file, "--output", tmp_path / "r", "--check")
    assert outcome.code == 2
    assert "not measured: held-grpo|hybrid-tiny|L4|tp1|cp1" in outcome.err
    again = call("recipe", file, "--output", tmp_path / "r")
    assert again.code == 2
    assert str(script) in again.err


def test_what_a_user_may_get_wrong_is_said_and_nothing_is_written(call, file, tmp_path):
    for arguments, code, words in (
        (("no-such-campaign",), 3, "cpu-quick"),
        ((file, "--engine", "lokal"), 2, "slurm"),
        ((file, "--cells-per-job", "0"), 2, "cells-per-job"),
        ((file, "--check"), 3, "no runners for local"),
        (("h200-single", "--engine", "skypilot"), 2, "--accelerator"),
    ):
        outcome = call("recipe", *arguments, "--output", tmp_path / "r")
        assert outcome.code == code
        assert words in outcome.err
    assert not (tmp_path / "r").exists()


def test_a_runner_measures_its_own_cells_only(call, known, file, tmp_path, store):
    manifest = tmp_path / "manifest.json"
    manifest.write_text(write_recipe(known.manifest("known"), "local")["manifest.json"])
    first, *others = known.manifest("known").keys
    for arguments in (("run", manifest, "--digest", known.manifest("known").digest), ("resume", "known")):
        told = json.loads(call("campaign", *arguments, "--cell", first, "--json").out)
        assert (told["skipped"], told["completed"], told["not_run"]) == ([first], [], [])
    told = json.loads(
        call("campaign", "resume", "known", "--cell", others[1], "--cell", others[0], "--json").out
    )
    assert told["skipped"] == others


def test_an_unknown_cell_or_another_manifest_is_refused_before_anything_is_registered(call, file, store):
    key = "grpo-a|hybrid-tiny|L4|tp1|cp1"
    outcome = call("campaign", "run", file, "--cell", "grpo-a", "--cell", key)
    assert outcome.code == 3
    assert "no cell 'grpo-a'; " in outcome.err
    assert key in outcome.err
    outcome = call("campaign", "run", file, "--cell", key, "--digest", "0" * 64)
    assert outcome.code == 2
    assert "0" * 64 in outcome.err
    assert not store.exists()


@pytest.mark.parametrize(
    ("text", "words"), [("{", "not JSON"), ("{}", "campaign"), ("[]", "manifest"), ("\xff", "cannot be read")]
)
def test_a_manifest_file_that_is_none_is_refused_with_its_name(call, tmp_path, store, text, words):
    path = tmp_path / "manifest.json"
    path.write_bytes(text.encode("latin-1"))
    outcome = call("campaign", "run", path)
    assert outcome.code == 2
    assert str(path) in outcome.err
    assert words in outcome.err
    assert not store.exists()


def test_the_protocol_of_a_manifest_file_is_judged_like_a_campaigns(call, campaigns, tmp_path):
    plan = campaigns.known_manifest()
    protocol = plan.protocol.model_copy(update={"required": 99})
    path = tmp_path / "manifest.json"
    path.write_text(Manifest.model_validate(plan.plain() | {"protocol": protocol.plain()}).model_dump_json())
    outcome = call("campaign", "run", path)
    assert outcome.code == 2
    assert "protocol.required" in outcome.err
