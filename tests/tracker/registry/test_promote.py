import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import planner
from schemas import InvalidInputError, NotFoundError, PromotionRefusedError, Statement
from tracker.certificate import Check
from tracker.log import CRASH_VARIABLE, Log
from tracker.mlflow_store import Models, connect, database_path, embedded_uri, sqlite_triggers
from tracker.registry import (
    MODEL,
    alias_history,
    make_bundle,
    observe_aliases,
    promote,
    record_review,
    register_bundle,
    rollback,
    verify_registry,
    versions,
)

PROMOTE = "import sys; from pathlib import Path; from tracker.log import Log; "
PROMOTE += "from tracker.registry import promote; "
PROMOTE += "promote(Log(Path(sys.argv[1])), 'champion', 1, by='ada', reason='r')"


def aliases(log: Log) -> dict[str, int]:
    return Models(connect(embedded_uri(log.root))).aliases(MODEL)


def test_both_keys_are_needed(registered: Log, statement: Statement):
    with pytest.raises(PromotionRefusedError, match=r"(?s)no correctness review.*no adoption review"):
        promote(registered, "champion", 2, by="ada", reason="r")
    record_review(registered, statement.digest, "correctness", "clear", by="ada", reason="checked")
    with pytest.raises(PromotionRefusedError, match="no adoption review") as refused:
        promote(registered, "champion", 2, by="ada", reason="r")
    assert "no correctness" not in str(refused.value)
    record_review(registered, statement.digest[:12], "adoption", "approve", by="bob", reason="wanted")
    assert promote(registered, "champion", 2, by="ada", reason="r").lacked == ()
    assert aliases(registered) == {"champion": 2}
    assert planner.load(MODEL, alias="champion", tracking_uri=embedded_uri(registered.root)).version == 2


def test_a_refused_promotion_changes_nothing(registered: Log):
    before = registered.segments()
    with pytest.raises(PromotionRefusedError):
        promote(registered, "champion", 2, by="ada", reason="r")
    assert aliases(registered) == {} and registered.segments() == before


@pytest.mark.parametrize(("aspect", "verdict"), [("correctness", "changes_requested"), ("adoption", "hold")])
def test_an_open_objection_holds_until_its_author_lifts_it(
    registered: Log, statement: Statement, approve, aspect, verdict
):
    approve(registered, statement)
    record_review(registered, statement.digest, aspect, verdict, by="eve", reason="noise at cp4")
    with pytest.raises(PromotionRefusedError, match="by eve: noise at cp4"):
        promote(registered, "champion", 2, by="ada", reason="r")
    lifted = {"correctness": "clear", "adoption": "approve"}[aspect]
    record_review(registered, statement.digest, aspect, lifted, by="eve", reason="measured again")
    promote(registered, "champion", 2, by="ada", reason="r")


def test_reviews_of_one_certificate_are_void_for_another(
    registered: Log, statement: Statement, other_statement: Statement, approve
):
    approve(registered, statement)
    register_bundle(registered, make_bundle([other_statement]), [other_statement])
    with pytest.raises(PromotionRefusedError, match=other_statement.digest[:12]):
        promote(registered, "champion", 3, by="ada", reason="r")


def test_a_certificate_that_does_not_verify_is_not_promoted(registered: Log, statement: Statement, approve):
    approve(registered, statement)
    with pytest.raises(PromotionRefusedError, match="does not verify: log: evidence is gone"):
        promote(
            registered,
            "champion",
            2,
            by="ada",
            reason="r",
            check=lambda found: [Check("log", found.digest != statement.digest, "evidence is gone")],
        )


def test_changed_files_are_not_promoted(registered: Log, statement: Statement, approve):
    approve(registered, statement)
    for path in (registered.root / "mlflow" / "artifacts").rglob("coefficients.json"):
        path.write_text(path.read_text().replace('"description":""', '"description":"x"'))
    with pytest.raises(PromotionRefusedError, match=r"do not verify|digest"):
        promote(registered, "champion", 2, by="ada", reason="r")


def test_force_is_possible_and_recorded_with_its_reason(registered: Log):
    done = promote(registered, "champion", 2, by="ada", reason="demo", force=True)
    assert len(done.lacked) == 2
    move = alias_history(registered)[-1].fact
    assert (move.forced, move.reason, move.by) == (True, "demo", "ada")
    assert verify_registry(registered) == []


def test_force_that_was_not_needed_is_not_recorded_as_forced(registered: Log, statement: Statement, approve):
    approve(registered, statement)
    assert not promote(registered, "champion", 2, by="ada", reason="r", force=True).move.forced


def test_the_hand_set_version_needs_no_reviews(registered: Log):
    assert promote(registered, "champion", 1, by="ada", reason="fallback").move.version == 1


def test_rollback_goes_back_step_by_step(
    registered: Log, statement: Statement, other_statement: Statement, approve
):
    register_bundle(registered, make_bundle([other_statement]), [other_statement])
    approve(registered, statement)
    approve(registered, other_statement)
    for version in (1, 2, 3):
        promote(registered, "champion", version, by="ada", reason="r")
    assert rollback(registered, "champion", by="bob", reason="slow").move.version == 2
    assert rollback(registered, "champion", by="bob", reason="still slow").move.version == 1
    with pytest.raises(NotFoundError, match="no earlier version"):
        rollback(registered, "champion", by="bob", reason="x")
    assert [
        (m.fact.previous, m.fact.version, m.fact.origin) for m in alias_history(registered, "champion")
    ] == [
        (None, 1, "promote"),
        (1, 2, "promote"),
        (2, 3, "promote"),
        (3, 2, "rollback"),
        (2, 1, "rollback"),
    ]
    assert verify_registry(registered) == []


def test_an_alias_moved_in_the_registry_is_noticed_recorded_and_flagged(registered: Log):
    Models(connect(embedded_uri(registered.root))).set_alias(MODEL, "champion", 2)
    assert {each.what for each in verify_registry(registered)} == {"moved alias", "alias without its reviews"}
    (move,) = observe_aliases(registered)
    assert (move.alias, move.version, move.previous, move.origin) == ("champion", 2, None, "observed")
    assert observe_aliases(registered) == ()
    assert {each.what for each in verify_registry(registered)} == {"alias without its reviews"}


def test_an_alias_removed_in_the_registry_is_noticed(registered: Log):
    promote(registered, "champion", 1, by="ada", reason="r")
    Models(connect(embedded_uri(registered.root))).drop_alias(MODEL, "champion")
    assert [move.version for move in observe_aliases(registered)] == [None]
    assert verify_registry(registered) == []


def test_a_kill_between_move_and_record_is_noticed_later(registered: Log):
    repository = str(Path(__file__).resolve().parents[3])
    environment = {**os.environ, CRASH_VARIABLE: "promote.moved"}
    command = [sys.executable, "-c", PROMOTE, str(registered.root)]
    assert subprocess.run(command, cwd=repository, env=environment).returncode == -signal.SIGKILL
    assert [each.what for each in verify_registry(registered)] == ["moved alias"]
    observe_aliases(registered)
    assert verify_registry(registered) == []


@pytest.mark.parametrize("alias", ["v2", "latest", "a.b", ""])
def test_an_alias_that_mlflow_does_not_take_is_refused_and_not_recorded(registered: Log, alias: str):
    with pytest.raises(InvalidInputError):
        promote(registered, alias, 1, by="ada", reason="r")
    assert alias_history(registered) == ()


def test_unknown_versions_and_missing_reasons_are_refused(registered: Log):
    with pytest.raises(NotFoundError, match="versions: 1, 2"):
        promote(registered, "champion", 9, by="ada", reason="r")
    with pytest.raises(InvalidInputError, match="reason"):
        promote(registered, "champion", 1, by="ada", reason=" ")
    with pytest.raises(InvalidInputError, match="--by"):
        promote(registered, "champion", 1, by=" ", reason="r")
    assert aliases(registered) == {}


def test_a_review_must_fit_its_aspect_and_name_a_known_certificate(registered: Log, statement: Statement):
    with pytest.raises(InvalidInputError, match="expected one of approve, hold"):
        record_review(registered, statement.digest, "adoption", "clear", by="ada", reason="r")
    with pytest.raises(NotFoundError, match=statement.digest[:12]):
        record_review(registered, "f" * 64, "adoption", "approve", by="ada", reason="r")
    with pytest.raises(InvalidInputError, match="at least 8"):
        record_review(registered, statement.digest[:3], "adoption", "approve", by="ada", reason="r")
    with pytest.raises(InvalidInputError, match="reason"):
        record_review(registered, statement.digest, "adoption", "approve", by="ada", reason="")


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("UPDATE model_versions SET description = 'fine' WHERE version = 2", "edited version description"),
        ("UPDATE model_version_tags SET value = 'x' WHERE key = 'ledger.table.1.id'", "edited version tag"),
        ("UPDATE model_versions SET current_stage = 'Deleted_Internal' WHERE version = 2", "deleted version"),
        (
            "UPDATE model_versions SET source = 'mlflow-artifacts:/x', storage_location = source",
            "edited version file",
        ),
        (
            "DELETE FROM model_version_tags WHERE key = 'ledger.bundle_digest' AND version = 2",
            "edited version tag",
        ),
    ],
)
def test_what_was_changed_in_the_registry_is_found(registered: Log, sql: str, what: str):
    with sqlite3.connect(database_path(registered.root)) as connection:
        for name in sqlite_triggers():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(sql)
    assert what in {each.what for each in verify_registry(registered)}


def test_versions_tell_who_moved_what_when(registered: Log):
    promote(registered, "champion", 1, by="ada", reason="start")
    first, second = versions(registered)
    assert (first.aliases, second.aliases) == (("champion",), ())
    assert second.registered is not None and second.registered.fact.version == 2
    assert alias_history(registered)[0].time.endswith("Z")
