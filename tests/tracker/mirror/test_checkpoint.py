import shutil
import sqlite3
from pathlib import Path

import pytest

from schemas import InvalidInputError
from tracker.log import Log, campaign_checkpoint
from tracker.mirror import pull, push, verify_mirror
from tracker.mirror._checkpoint import CHECKPOINT_TAG, parse_checkpoint
from tracker.mlflow_store import connect, database_path, embedded_uri, sqlite_triggers


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory, evidence) -> Path:
    """A mirrored ledger, to be copied."""
    log = evidence.small_ledger(tmp_path_factory.mktemp("pushed") / "ledger")
    push(log, embedded_uri(log.root))
    return log.root


@pytest.fixture
def log(tmp_path: Path, pushed: Path) -> Log:
    return Log(shutil.copytree(pushed, tmp_path / "ledger"))


def tag(log: Log) -> str:
    tags = connect(embedded_uri(log.root)).experiment_tags("first")
    assert tags is not None
    return tags[CHECKPOINT_TAG]


def findings(log: Log) -> list[tuple[str, str]]:
    return [(each.what, each.where) for each in verify_mirror(log) if each.what != "missing trigger"]


def forget_run(log: Log, segment: str) -> None:
    """Take a run out of the store with everything of it, as its owner can."""
    with sqlite3.connect(database_path(log.root)) as connection:
        for name in sqlite_triggers():
            connection.execute(f"DROP TRIGGER {name}")
        query = "SELECT run_uuid FROM tags WHERE key = 'ledger.segment' AND value = ?"
        (run,) = connection.execute(query, (segment,)).fetchone()
        for table in ("tags", "params", "metrics", "latest_metrics", "runs"):
            connection.execute(f"DELETE FROM {table} WHERE run_uuid = ?", (run,))


def test_the_tag_is_the_campaigns_checkpoint_and_a_second_push_leaves_it(log: Log):
    whole, mirrored = campaign_checkpoint(log, "first"), parse_checkpoint(tag(log))
    assert (mirrored.root, mirrored.count, mirrored.events) == (whole.root, whole.count, whole.events)
    before = tag(log)
    push(log)
    assert tag(log) == before and findings(log) == []


def test_it_moves_on_with_the_campaign(log: Log, evidence):
    evidence.completed_attempt(log, workload="late")
    assert [what for what, _ in findings(log)] == ["missing run"]
    push(log)
    assert parse_checkpoint(tag(log)).count == 4 and findings(log) == []


def test_runs_pushed_one_by_one_after_it_are_no_finding(log: Log, evidence):
    push(log, segments=[evidence.completed_attempt(log, workload="late").segment])
    assert parse_checkpoint(tag(log)).count == 3 and findings(log) == []


def test_a_segment_deleted_with_its_run_is_found_and_push_does_not_forget_it(log: Log):
    before, gone = tag(log), log.segments("first")[1]
    gone.path.unlink()
    forget_run(log, gone.segment)
    assert findings(log) == [("deleted segment", f"experiment first: {CHECKPOINT_TAG}")]
    (failure,) = push(log).failed
    assert "covers 3 segments" in failure.reason and "layoutledger verify" in failure.reason
    assert tag(log) == before


def test_history_rewritten_in_log_and_runs_alike_is_found(log: Log, evidence):
    gone = log.segments("first")[2]
    gone.path.unlink()
    forget_run(log, gone.segment)
    push(log, segments=[evidence.completed_attempt(log, workload="instead").segment])
    assert ("deleted segment", f"experiment first: {CHECKPOINT_TAG}") in findings(log)


@pytest.mark.parametrize("value", ["", "{}", "[]", '{"count":1}', "x", "[" * 3000])
def test_a_tag_that_is_no_checkpoint_is_found(log: Log, value: str):
    tracking = connect(embedded_uri(log.root))
    experiment = tracking.experiment("first")
    assert experiment is not None
    tracking.tag_experiment(experiment, CHECKPOINT_TAG, value)
    assert [what for what, _ in findings(log)] == ["edited checkpoint"]
    assert [failure.segment for failure in push(log).failed] == ["first"]
    with pytest.raises(InvalidInputError):
        parse_checkpoint(value)


def test_another_root_is_found_and_a_deleted_tag_too(log: Log):
    tracking = connect(embedded_uri(log.root))
    experiment = tracking.experiment("first")
    assert experiment is not None
    root = parse_checkpoint(tag(log)).root
    tracking.tag_experiment(experiment, CHECKPOINT_TAG, tag(log).replace(root, "0" * 64))
    assert [what for what, _ in findings(log)] == ["checkpoint does not match"]
    tracking.call("x", tracking.client.delete_experiment_tag, experiment, CHECKPOINT_TAG)
    assert [what for what, _ in findings(log)] == ["missing checkpoint"]
    push(log)
    assert findings(log) == []


def test_two_ledgers_share_one_checkpoint(tmp_path: Path, log: Log, evidence):
    common = embedded_uri(tmp_path / "common")
    other = Log(tmp_path / "other")
    evidence.completed_attempt(other, workload="theirs")
    for each in (log, other):
        assert push(each, common).failed == ()
    for each in (log, other):
        pull(each, common)
        assert verify_mirror(each, common) == []
        assert push(each, common).failed == ()
    tags = connect(common).experiment_tags("first")
    assert tags is not None
    assert parse_checkpoint(tags[CHECKPOINT_TAG]).root == campaign_checkpoint(other, "first").root
