from pathlib import Path

import pytest

from schemas import StoreUnavailableError
from tracker.log import Log, read_segment, verify_log
from tracker.mirror import pull, push, verify_mirror
from tracker.mlflow_store import connect, embedded_uri


@pytest.fixture
def common(tmp_path: Path) -> str:
    """A tracking store that two ledgers share."""
    return embedded_uri(tmp_path / "common")


def contents(log: Log) -> dict[str, bytes]:
    return {f"{p.campaign}/{p.segment}": p.path.read_bytes() for p in log.segments()}


def test_two_ledgers_that_push_and_pull_end_equal(tmp_path: Path, evidence, common: str):
    first = evidence.small_ledger(tmp_path / "first")
    second = Log(tmp_path / "second")
    evidence.completed_attempt(second, campaign="other")
    push(first, common)
    push(second, common)
    assert len(pull(first, common).adopted) == 1
    assert len(pull(second, common).adopted) == 3
    assert contents(first) == contents(second)
    assert verify_log(second) == [] and verify_mirror(second, common) == []
    assert (pull(second, common).adopted, pull(second, common).known) == ((), 4)
    assert push(second, common).created == ()


def test_a_forged_segment_is_refused_and_the_ledger_unchanged(tmp_path: Path, evidence, common: str):
    first = evidence.small_ledger(tmp_path / "first")
    push(first, common)
    for path in (tmp_path / "common" / "mlflow" / "artifacts").rglob("*.jsonl"):
        path.write_bytes(path.read_bytes().replace(b"grpo", b"gkpo"))
    second = Log(tmp_path / "second")
    report = pull(second, common)
    assert len(report.failed) == 3 and report.adopted == ()
    assert contents(second) == {}


@pytest.mark.parametrize(
    ("unit", "type", "changes", "reason"),
    [
        ("fit", "fit.completed", {"table": 3}, "fit.completed: "),
        ("exclusion", "cell.excluded", {"by": None}, "cell.excluded: "),
        ("attempt", "sample.recorded", {"ms": "soon"}, "sample"),
        ("attempt", "sample.recorded", {"round": 2**31}, "columns"),
    ],
)
def test_a_segment_whose_payload_is_not_what_its_type_says_is_refused(
    tmp_path: Path, evidence, common: str, unit: str, type: str, changes: dict, reason: str
):
    # Its chain, seal and digests are right: whoever wrote it knew how.
    first = evidence.small_ledger(tmp_path / "first")
    push(first, common)
    there = [event for place in first.segments() for event in read_segment(place.path)]
    fair = next((event.data for event in there if event.type == type), {})
    with Log(tmp_path / "hostile").open_segment("known", unit) as hostile:
        hostile.append(type, {**fair, **changes})
    file = Log(tmp_path / "hostile").segments()[0].path
    tracking = connect(common)
    experiment = tracking.ensure_experiment("known", {"ledger.campaign": "known"})
    run = tracking.create_run(experiment, "r", 1, {"ledger.segment": hostile.segment})
    tracking.log_file(run, file, "segment")
    tracking.set_tag(run, "ledger.sealed", "x")
    second = Log(tmp_path / "second")
    report = pull(second, common)
    assert [failed.segment for failed in report.failed] == [hostile.segment]
    assert reason in report.failed[0].reason
    assert contents(second) == contents(first)


@pytest.mark.parametrize("segment", ["../../evil", "", "01ARZ3NDEKTSV4RRFFQ69G5FAV"])
def test_a_run_that_lies_about_its_segment_is_refused(tmp_path: Path, common: str, segment: str):
    tracking = connect(common)
    experiment = tracking.ensure_experiment("c", {"ledger.campaign": "c"})
    tags = {"ledger.segment": segment} if segment else {}
    run = tracking.create_run(experiment, "r", 1, tags)
    tracking.set_tag(run, "ledger.sealed", "x")
    log = Log(tmp_path / "mine")
    report = pull(log, common)
    assert len(report.failed) == 1 and contents(log) == {}


def test_a_deleted_run_still_gives_its_segment(tmp_path: Path, evidence, common: str):
    import sqlite3

    first = evidence.small_ledger(tmp_path / "first")
    push(first, common)
    with sqlite3.connect(tmp_path / "common" / "mlflow" / "mlflow.db") as connection:
        connection.execute("DROP TRIGGER layoutledger_runs_update")
        connection.execute("UPDATE runs SET lifecycle_stage = 'deleted'")
    assert len(pull(Log(tmp_path / "second"), common).adopted) == 3


def test_a_store_that_is_away_is_said(tmp_path: Path):
    with pytest.raises(StoreUnavailableError):
        pull(Log(tmp_path), "http://127.0.0.1:9")
