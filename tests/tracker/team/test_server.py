"""Ledgers that share a real MLflow server on PostgreSQL."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import planner
from schemas import StoreUnavailableError
from tracker.log import Log, verify_log
from tracker.mirror import pull, push, verify_mirror
from tracker.mlflow_store import SealedError, Tracking, connect, postgresql_sealing
from tracker.registry import (
    MODEL,
    alias_history,
    observe_aliases,
    promote,
    register_hand_set,
    verify_registry,
    versions,
)

pytestmark = pytest.mark.slow(seconds=60)

RECORD = """
import importlib.util, sys
from pathlib import Path
from tracker.log import Log
from tracker.mirror import push
spec = importlib.util.spec_from_file_location("evidence", sys.argv[1])
evidence = importlib.util.module_from_spec(spec)
spec.loader.exec_module(evidence)
log = Log(Path(sys.argv[2]))
for number in range(2):
    place = evidence.completed_attempt(log, campaign=sys.argv[4], workload=f"w{sys.argv[5]}-{number}")
    push(log, sys.argv[3], segments=[place.segment])
"""

PUSH = """
import sys
from pathlib import Path
from tracker.log import Log
from tracker.mirror import push
push(Log(Path(sys.argv[1])), sys.argv[2])
"""


def contents(log: Log) -> dict[str, bytes]:
    return {f"{p.campaign}/{p.segment}": p.path.read_bytes() for p in log.segments()}


def test_two_ledgers_share_a_server_and_end_equal(tmp_path: Path, evidence, server):
    first, second = Log(tmp_path / "first"), Log(tmp_path / "second")
    evidence.open_campaign(first, evidence.manifest("shared"))
    evidence.completed_attempt(first, campaign="shared")
    evidence.failed_attempt(second, campaign="shared")
    for log in (first, second):
        assert len(push(log, server.uri).created) == len(log.segments())
    pull(first, server.uri)
    pull(second, server.uri)
    assert contents(first) == contents(second) and len(contents(first)) == 3
    for log in (first, second):
        assert push(log, server.uri).created == ()
        assert verify_log(log) == [] and verify_mirror(log, server.uri, campaign="shared") == []


def test_versions_and_aliases_are_shared(tmp_path: Path, server):
    first, second = Log(tmp_path / "first"), Log(tmp_path / "second")
    assert register_hand_set(first, server.uri) == 1
    assert register_hand_set(second, server.uri) == 1
    assert [version.version for version in versions(second, server.uri)] == [1]
    assert planner.load(MODEL, version=1, tracking_uri=server.uri).version == 1
    promote(first, "champion", 1, by="ada", reason="start", uri=server.uri)
    push(first, server.uri)
    pull(second, server.uri)
    assert observe_aliases(second, server.uri) == ()
    assert alias_history(second)[0].fact.by == "ada"
    for log in (first, second):
        assert verify_registry(log, server.uri) == []
    assert planner.load(MODEL, alias="champion", tracking_uri=server.uri).version == 1


def test_eight_processes_in_five_ledgers_record_and_push_at_once(tmp_path: Path, server):
    campaign = "many"
    repository = Path(__file__).resolve().parents[3]
    helper = str(repository / "tests" / "tracker" / "evidence.py")
    children: list[subprocess.Popen[bytes]] = []
    for number in range(8):
        folder = tmp_path / (f"ledger-{number}" if number < 4 else "ledger")
        arguments = [helper, str(folder), server.uri, campaign, str(number)]
        children.append(subprocess.Popen([sys.executable, "-c", RECORD, *arguments], cwd=repository))
    assert [child.wait() for child in children] == [0] * 8
    whole = Log(tmp_path / "ledger")
    pull(whole, server.uri)
    assert len(whole.segments(campaign)) == 16
    tracking = connect(server.uri)
    experiment = tracking.experiment(campaign)
    assert experiment is not None
    assert len(tracking.runs(experiment, deleted=True)) == 16
    assert push(whole, server.uri).unchanged == len(whole.segments())
    assert verify_mirror(whole, server.uri, campaign=campaign) == []


def test_two_ledgers_that_push_the_same_segments_at_once_double_nothing(tmp_path: Path, evidence, server):
    first = Log(tmp_path / "first")
    for number in range(6):
        evidence.completed_attempt(first, campaign="same", workload=f"w{number}")
    second = Log(tmp_path / "second")
    for place in first.segments():
        second.adopt(place.path)
    command = (
        "import sys; from pathlib import Path; from tracker.log import Log; from tracker.mirror import push; "
    )
    command += "push(Log(Path(sys.argv[1])), sys.argv[2])"
    children = [
        subprocess.Popen([sys.executable, "-c", command, str(log.root), server.uri])
        for log in (first, second)
    ]
    assert [child.wait() for child in children] == [0, 0]
    assert verify_mirror(first, server.uri, campaign="same") == []


def test_work_goes_on_while_the_server_is_down_and_push_catches_up(tmp_path: Path, evidence, server):
    log = Log(tmp_path / "ledger")
    evidence.completed_attempt(log, campaign="down", workload="before")
    push(log, server.uri)
    server.stop()
    try:
        evidence.completed_attempt(log, campaign="down", workload="during")
        with pytest.raises(StoreUnavailableError, match="catches up"):
            push(log, server.uri)
    finally:
        server.start()
    assert len(push(log, server.uri).created) == 1
    assert verify_mirror(log, server.uri, campaign="down") == []


@pytest.fixture
def sealed(tmp_path: Path, evidence, server, postgres: str) -> Iterator[tuple[Log, Tracking, str]]:
    """A pushed attempt on the server whose database has the refusals of `layoutledger protect`."""
    import psycopg2

    log = Log(tmp_path / "ledger")
    campaign = tmp_path.name
    evidence.completed_attempt(log, campaign=campaign)
    push(log, server.uri)
    connection = psycopg2.connect(postgres)
    connection.autocommit = True
    for _ in range(2):
        connection.cursor().execute(postgresql_sealing())
    tracking = connect(server.uri)
    experiment = tracking.experiment(campaign)
    assert experiment is not None
    yield log, tracking, tracking.runs(experiment)[0].run_id
    for line in postgresql_sealing().splitlines():
        if line.startswith("DROP TRIGGER"):
            connection.cursor().execute(line)
    connection.close()


def test_a_protected_server_refuses_changes_to_sealed_runs(sealed: tuple[Log, Tracking, str], server):
    log, tracking, run = sealed
    client = tracking.client
    for change in (
        lambda: tracking.set_tag(run, "ledger.verdict", "x"),
        lambda: tracking.log(run, {"new": "1"}, {}, []),
        lambda: tracking.end_run(run, "FAILED", 5),
        lambda: tracking.delete_run(run),
        lambda: tracking.call("x", client.delete_tag, run, "ledger.sealed"),
        lambda: tracking.call("x", client.log_metric, run, "by_round_ms/no_sharing", 1.0),
    ):
        with pytest.raises(SealedError):
            change()
    assert verify_mirror(log, server.uri, campaign=log.campaigns()[0]) == []


def test_new_runs_go_into_a_protected_server(sealed: tuple[Log, Tracking, str], evidence, server):
    log, _, _ = sealed
    name = log.campaigns()[0]
    evidence.completed_attempt(log, campaign=name, workload="later")
    assert len(push(log, server.uri).created) == 1
    assert verify_mirror(log, server.uri, campaign=name) == []


def test_what_the_server_lets_through_is_found(tmp_path: Path, evidence, server):
    log = Log(tmp_path / "ledger")
    evidence.completed_attempt(log, campaign="open")
    push(log, server.uri)
    tracking = connect(server.uri)
    experiment = tracking.experiment("open")
    assert experiment is not None
    run = tracking.runs(experiment)[0].run_id
    tracking.set_tag(run, "mlflow.note.content", "all well")
    tracking.end_run(run, "FAILED", 5)
    found = {each.what for each in verify_mirror(log, server.uri, campaign="open")}
    assert found == {"edited note", "edited status", "edited end time"}


def test_a_server_that_accepts_and_says_nothing_blocks_no_longer_than_its_time_out(tmp_path: Path, evidence):
    log = evidence.small_ledger(tmp_path)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        begun = time.monotonic()
        with pytest.raises(StoreUnavailableError, match="does not answer within 1 s"):
            push(log, f"http://127.0.0.1:{silent.getsockname()[1]}", budget_s=1.0)
        assert time.monotonic() - begun < 60
