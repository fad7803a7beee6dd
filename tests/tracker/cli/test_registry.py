"""`register`, `review`, `promote`, `rollback`, `versions`, `plan`: from certified table to planned batch."""

import json
import shutil
from pathlib import Path

import pytest

from tracker._ledger import Ledger
from tracker._versions import register_campaigns
from tracker.mlflow_store import connect, embedded_uri


@pytest.fixture(scope="module")
def registered_once(certified_once, tmp_path_factory) -> Path:
    """The table of `known` as version 2: to be copied."""
    ledger = Ledger(shutil.copytree(certified_once, tmp_path_factory.mktemp("registered") / "ledger"))
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        assert register_campaigns(ledger, ["known"]) == 2
    return ledger.store


@pytest.fixture
def registered(registered_once, store) -> str:
    """The table of `known` is certified and version 2; the beginning of its certificate's digest."""
    (file,) = (shutil.copytree(registered_once, store) / "certificates").glob("*.json")
    return file.stem.removeprefix("known-")


def review(call, digest, aspect, verdict, by="ann"):
    return call(
        "review",
        "add",
        digest[:12],
        "--aspect",
        aspect,
        "--verdict",
        verdict,
        "--reason",
        "read it",
        "--by",
        by,
    )


def test_a_version_is_planned_promoted_and_rolled_back(call, registered, campaigns):
    picks = json.loads(call("plan", "--version", "2", "--json").out)["picks"]
    assert [pick["version"] for pick in picks] == [1, 2]
    assert picks[1]["over_best_pct"] == 0.0
    refused = call("promote", "2", "--reason", "first table", "--by", "ann")
    assert refused.code == 9
    assert "correctness" in refused.err and "adoption" in refused.err
    assert review(call, registered, "correctness", "clear").code == 0
    assert call("promote", "2", "--reason", "first table").code == 9
    assert review(call, registered, "adoption", "approve", by="bob").code == 0
    assert call("promote", "1", "--reason", "begin with the fallback").code == 0
    promoted = call("promote", "2", "--reason", "first table", "--by", "ann")
    assert promoted.code == 0, promoted.err
    by_alias = json.loads(call("plan", "--alias", "champion", "--json").out)["picks"]
    assert by_alias == picks
    assert call("rollback", "--reason", "slower on the new driver").code == 0
    history = json.loads(call("versions", "--json").out)["history"]
    assert [(move["version"], move["origin"]) for move in history] == [
        (1, "promote"),
        (2, "promote"),
        (1, "rollback"),
    ]


def test_registering_the_same_tables_again_is_the_same_version(call, certified):
    first = call("register", "known", "--json")
    assert first.code == 0, first.err
    assert json.loads(first.out)["version"] == 2
    before = certified.log.segments()
    assert json.loads(call("register", "known", "--json").out)["version"] == 2
    assert certified.log.segments() == before


def test_an_unknown_version_or_alias_is_refused(call, registered):
    for arguments in (("plan", "--version", "7"), ("plan", "--alias", "nobody")):
        outcome = call(*arguments)
        assert outcome.code == 3, arguments
        assert outcome.err.startswith("error:")


def test_a_ledger_whose_registry_is_gone_says_how_to_get_it_back(call, registered, store):
    assert "rebuild" not in call("versions").err
    shutil.rmtree(store / "mlflow")
    for code, arguments in ((7, ("plan", "--version", "2")), (0, ("versions",))):
        outcome = call(*arguments)
        assert outcome.code == code
        assert "records versions 1, 2 of layout-cost: `layoutledger rebuild`" in outcome.err


def test_a_ledger_without_versions_says_how_to_make_one(call, known):
    outcome = call("versions")
    assert outcome.code == 0
    assert "layoutledger register" in outcome.err


def test_a_batch_from_a_file_is_planned(call, registered, tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text("\n".join(json.dumps([*range(200), 1000 + row]) for row in range(4)))
    outcome = call("plan", "--version", "2", "--rows", rows, "--layers", "4", "--gdn-layers", "3", "--json")
    assert outcome.code == 0, outcome.err
    assert len(json.loads(outcome.out)["picks"]) == 2


@pytest.mark.parametrize("content", ["", "[]\n", "[1, 2.5]\n", "[1, true]\n", "{}\n", "[1, 2\n", "[1]\n\n"])
def test_a_rows_file_that_is_wrong_is_refused_with_its_line(call, registered, tmp_path, content):
    rows = tmp_path / "rows.jsonl"
    rows.write_text(content)
    outcome = call("plan", "--version", "2", "--rows", rows)
    assert outcome.code == 2
    assert "rows.jsonl" in outcome.err


def test_a_tracking_server_that_is_down_is_said_and_nothing_is_lost(call, certified, monkeypatch):
    before = certified.log.segments()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    for verb in (("register", "known"), ("push",)):
        outcome = call(*verb)
        assert outcome.code == 7, verb
        assert "127.0.0.1:9" in outcome.err
    assert certified.log.segments() == before


def test_holds_bind_and_an_alias_moved_in_mlflow_is_noticed(call, registered, store):
    for aspect, verdict in (("correctness", "clear"), ("adoption", "approve")):
        assert review(call, registered, aspect, verdict).code == 0
    said = json.loads(call("review", "list", registered[:8], "--json").out)
    assert [(each["aspect"], each["verdict"], each["by"]) for each in said] == [
        ("correctness", "clear", "ann"),
        ("adoption", "approve", "ann"),
    ]
    held = json.loads(call("hold", "add", "2", "--reason", "noise", "--by", "eve", "--json").out)
    refused = call("promote", "2", "--reason", "r")
    assert refused.code == 9 and "held by eve" in refused.err and held["hold"] in refused.err
    assert [each["hold"] for each in json.loads(call("hold", "list", "--json").out)] == [held["hold"]]
    assert "version 2\teve" in call("hold", "list").out
    listed = {
        each["version"]: each["holds"] for each in json.loads(call("versions", "--json").out)["versions"]
    }
    assert listed == {1: [], 2: [held["hold"]]}
    # Someone moves the alias in MLflow itself.
    client = connect(embedded_uri(store)).client
    client.set_registered_model_alias("layout-cost", "champion", 2)
    pulled = json.loads(call("pull", "--json").out)
    assert [(move["alias"], move["version"], move["origin"]) for move in pulled["aliases"]] == [
        ("champion", 2, "observed")
    ]
    drifted = call("verify")
    assert drifted.code == 6 and "alias at a held version" in drifted.out
    released = call("hold", "release", "2", "--reason", "quiet again", "--by", "eve")
    assert released.code == 0 and held["hold"] in released.err
    history = json.loads(call("versions", "--json").out)["history"]
    assert [
        (move["version"], move["origin"], move["reason"] != "", move["time"] != "") for move in history
    ] == [(2, "observed", True, True)]
    assert call("sql", "select released_by from holds", "--json").out.count("eve") == 1
