import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tracker.log import Log
from tracker.mirror import push, verify_mirror
from tracker.mlflow_store import (
    SEAL_TAG,
    MetricPoint,
    RunView,
    Tracking,
    connect,
    database_path,
    embedded_uri,
    sqlite_triggers,
)

Change = Callable[[Tracking, RunView], object]

CHANGES: dict[str, Change] = {
    "edited tag": lambda t, run: t.set_tag(run.run_id, "ledger.verdict", "failed"),
    "added tag": lambda t, run: t.set_tag(run.run_id, "mine", "x"),
    "deleted tag": lambda t, run: t.call("x", t.client.delete_tag, run.run_id, "ledger.root"),
    "edited note": lambda t, run: t.set_tag(run.run_id, "mlflow.note.content", "all well"),
    "added param": lambda t, run: t.log(run.run_id, {"new": "1"}, {}, []),
    "edited status": lambda t, run: t.end_run(run.run_id, "KILLED", run.end or 0),
    "edited end time": lambda t, run: t.end_run(run.run_id, run.status, 5),
    "edited name": lambda t, run: t.call("x", t.client.update_run, run.run_id, name="better"),
    "added metric": lambda t, run: t.log(run.run_id, {}, {}, [MetricPoint("mine", 0, 1, 1.0)]),
    "deleted run": lambda t, run: t.delete_run(run.run_id),
    "unfinished run": lambda t, run: t.call("x", t.client.delete_tag, run.run_id, SEAL_TAG),
}
SQL = {
    "edited param": "UPDATE params SET value = '9' WHERE key = 'layers'",
    "deleted param": "DELETE FROM params WHERE key = 'layers'",
    "edited metric": "UPDATE metrics SET value = 1 WHERE key = 'median_ms/no_sharing'",
    "deleted metric": "DELETE FROM metrics WHERE key = 'by_round_ms/no_sharing'",
    "added metric": "INSERT INTO metrics (run_uuid, key, value, timestamp, step, is_nan) "
    "SELECT run_uuid, 'unlisted', 1, 1, 0, 0 FROM params WHERE key = 'layers'",
    "edited start time": "UPDATE runs SET start_time = 7",
}


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory, evidence) -> Path:
    """A mirrored ledger, to be copied."""
    log = Log(tmp_path_factory.mktemp("pushed") / "ledger")
    evidence.open_campaign(log, evidence.manifest())
    evidence.completed_attempt(log)
    push(log, embedded_uri(log.root))
    return log.root


@pytest.fixture
def log(tmp_path: Path, pushed: Path) -> Log:
    return Log(shutil.copytree(pushed, tmp_path / "ledger"))


@pytest.fixture
def unguarded(log: Log) -> sqlite3.Connection:
    """The store as a server would keep it: no trigger stands in the way."""
    connection = sqlite3.connect(database_path(log.root), isolation_level=None)
    for name in sqlite_triggers():
        connection.execute(f"DROP TRIGGER {name}")
    return connection


def attempt(tracking: Tracking) -> RunView:
    experiment = tracking.experiment("first")
    assert experiment is not None
    return next(run for run in tracking.runs(experiment) if run.tags["ledger.kind"] == "attempt")


def findings(log: Log) -> set[str]:
    return {finding.what for finding in verify_mirror(log)} - {"missing trigger"}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_through_mlflow_is_found(log: Log, what: str):
    tracking = connect(embedded_uri(log.root))
    with sqlite3.connect(database_path(log.root)) as connection:
        for name in sqlite_triggers():
            connection.execute(f"DROP TRIGGER {name}")
    CHANGES[what](tracking, attempt(tracking))
    assert what in findings(log)


@pytest.mark.parametrize("what", SQL)
def test_a_change_of_the_database_is_found(log: Log, unguarded: sqlite3.Connection, what: str):
    unguarded.execute(SQL[what])
    assert findings(log) == {what}


def test_a_metric_that_is_no_number_any_more_is_found(log: Log, unguarded: sqlite3.Connection):
    unguarded.execute(
        "UPDATE metrics SET value = 'x', step = 'y' WHERE key = 'by_round_ms/no_sharing' AND step = 1"
    )
    assert findings(log) == {"edited metric"}


def test_a_finding_says_where_what_was_expected_and_found(log: Log, unguarded: sqlite3.Connection):
    unguarded.execute(SQL["edited param"])
    (found,) = [each for each in verify_mirror(log) if each.what == "edited param"]
    assert found.where.startswith("experiment first: run grpo-0|hybrid") and found.where.endswith(": layers")
    assert (found.expected, found.found) == ("4", "9")


def test_dropped_triggers_are_reported_once_and_back(log: Log, unguarded: sqlite3.Connection):
    assert {each.what for each in verify_mirror(log)} == {"missing trigger"}
    assert verify_mirror(log) == []


@pytest.mark.parametrize("what", ["edited artifact", "deleted artifact", "added artifact"])
def test_a_change_of_the_files_is_found(log: Log, what: str):
    (file,) = [p for p in (log.root / "mlflow" / "artifacts").rglob("environment.json")]
    if what == "edited artifact":
        file.write_text("{}")
    elif what == "deleted artifact":
        file.unlink()
    else:
        (file.parent / "more.txt").write_text("x")
    assert findings(log) == {what}


def test_a_deleted_segment_is_found_by_its_run(log: Log):
    gone = log.segments()[1]
    gone.path.unlink()
    assert findings(log) == {"deleted segment"}
    assert gone.segment in {finding.expected for finding in verify_mirror(log)}


def test_an_experiment_that_was_renamed_or_whose_note_was_edited_is_found(
    log: Log, unguarded: sqlite3.Connection
):
    unguarded.execute("UPDATE experiment_tags SET value = 'x' WHERE key = 'mlflow.note.content'")
    assert findings(log) == {"edited note"}
    unguarded.execute("UPDATE experiments SET name = 'other' WHERE name = 'first'")
    assert "missing experiment" in findings(log)


def test_what_was_never_pushed_is_missing(tmp_path: Path, evidence):
    log = evidence.small_ledger(tmp_path / "fresh")
    assert findings(log) == {"missing store"}
    push(log, campaign="first")
    evidence.completed_attempt(log, workload="late")
    assert findings(log) == {"missing run"}
