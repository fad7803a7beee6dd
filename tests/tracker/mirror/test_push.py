import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from schemas import StoreUnavailableError
from tracker.log import CRASH_VARIABLE, Log, recover
from tracker.mirror import push, verify_mirror
from tracker.mlflow_store import RunView, Tracking, connect, embedded_uri

REPOSITORY = str(Path(__file__).resolve().parents[3])
PUSH = "import sys; from pathlib import Path; from tracker.log import Log; from tracker.mirror import push; "
PUSH += "push(Log(Path(sys.argv[1])))"
CRASH_POINTS = ["mirror.create.after", "mirror.artifact.after"]
MORE_POINTS = ["mirror.create.before", "mirror.artifact.before", "mirror.seal.before", "mirror.seal.after"]


def runs_of(root: Path, campaign: str = "first", *, deleted: bool = False) -> tuple[RunView, ...]:
    tracking: Tracking = connect(embedded_uri(root))
    experiment = tracking.experiment(campaign)
    return () if experiment is None else tracking.runs(experiment, deleted=deleted)


@pytest.fixture
def log(tmp_path: Path, evidence) -> Log:
    return evidence.small_ledger(tmp_path)


def test_one_flat_run_a_segment_and_again_nothing_new(log: Log):
    report = push(log)
    assert report.created == tuple(place.segment for place in log.segments())
    runs = runs_of(log.root)
    assert sorted(run.status for run in runs) == ["FAILED", "FINISHED", "FINISHED"]
    assert not any("mlflow.parentRunId" in run.tags for run in runs)
    again = push(log)
    assert (again.created, again.completed, again.unchanged) == ((), (), 3)
    assert runs_of(log.root) == runs
    assert verify_mirror(log) == []


def test_many_segments_are_compared_with_one_list(log: Log, evidence):
    for number in range(25):
        evidence.completed_attempt(log, workload=f"grpo-{number}", rounds=1)
    assert len(push(log).created) == 28
    assert push(log).unchanged == 28


@pytest.mark.parametrize(
    "point", [*CRASH_POINTS, *(pytest.param(point, marks=pytest.mark.slow) for point in MORE_POINTS)]
)
def test_a_run_that_a_kill_left_half_written_is_completed_not_doubled(log: Log, point: str):
    environment = {**os.environ, CRASH_VARIABLE: f"{point}:2"}
    child = subprocess.run([sys.executable, "-c", PUSH, str(log.root)], cwd=REPOSITORY, env=environment)
    assert child.returncode == -signal.SIGKILL
    push(log)
    assert len(runs_of(log.root, deleted=True)) == 3
    assert verify_mirror(log) == []


def test_a_bad_segment_does_not_stop_the_others(log: Log, evidence):
    with log.open_segment("first", "exclusion") as segment:
        segment.append("cell.excluded", {"cell": "x"})
    evidence.completed_attempt(log, workload="later")
    report = push(log)
    assert [failure.segment for failure in report.failed] == [segment.segment]
    assert "cell.excluded" in report.failed[0].reason
    assert len(report.created) == 4


def test_a_segment_with_a_flipped_byte_is_not_mirrored(log: Log):
    place = log.segments()[1]
    data = bytearray(place.path.read_bytes())
    data[len(data) // 2] ^= 1
    place.path.write_bytes(bytes(data))
    report = push(log)
    assert [failure.segment for failure in report.failed] == [place.segment]


def test_only_what_is_asked_for_is_pushed(log: Log, evidence):
    evidence.completed_attempt(log, campaign="other")
    chosen = log.segments("first")[0].segment
    assert push(log, segments=[chosen]).created == (chosen,)
    assert push(log, campaign="first").unchanged == 1
    assert runs_of(log.root, "other") == ()


def test_a_deleted_store_is_rebuilt_equal(log: Log):
    push(log)
    before = {run.name: (run.status, run.params, run.tags, run.metrics) for run in runs_of(log.root)}
    shutil.rmtree(log.root / "mlflow")
    push(log)
    assert {r.name: (r.status, r.params, r.tags, r.metrics) for r in runs_of(log.root)} == before


def test_a_server_that_is_away_is_said_soon_and_nothing_is_lost(log: Log):
    with pytest.raises(StoreUnavailableError, match="layoutledger push"):
        push(log, "http://127.0.0.1:9")
    assert len(push(log).created) == 3


def test_a_spent_budget_ends_the_push_and_the_next_one_goes_on(log: Log):
    with pytest.raises(StoreUnavailableError, match="spent"):
        push(log, budget_s=0.0)
    assert len(push(log).created) == 3


def test_a_half_written_run_of_other_content_is_replaced(log: Log):
    tracking = connect(embedded_uri(log.root))
    place = log.segments()[0]
    experiment = tracking.ensure_experiment("first", {})
    tags = {"ledger.segment": place.segment, "ledger.projection": "0"}
    tracking.create_run(experiment, "old", 1, tags)
    push(log)
    assert verify_mirror(log) == []


def test_a_recovered_attempt_is_shown_as_killed(log: Log, evidence):
    cell = evidence.identity("grpo-9")
    writer = log.open_segment("first", "attempt", {"cell": cell.key, "attempt": "1"})
    evidence.begin_attempt(writer, cell)
    writer.close()
    recover(log)
    push(log)
    assert [run.status for run in runs_of(log.root) if "grpo-9" in run.name] == ["KILLED"]
