import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import psutil
import pytest

from schemas import InvalidInputError, StoreUnavailableError
from tracker._ui import start_ui
from tracker.mirror import push
from tracker.registry import register_hand_set

SERVE = """
import sys
from pathlib import Path
from tracker._ui import serve_ui
serve_ui(Path(sys.argv[1]), announce=lambda server: print(server.process.pid, server.address, flush=True))
"""


def answer(address: str, path: str, body: dict[str, object] | None = None) -> bytes:
    data = None if body is None else json.dumps(body).encode()
    request = Request(f"{address}{path}", data=data, headers={"Content-Type": "application/json"})
    with urlopen(request, timeout=120) as found:
        return found.read()


def group(pid: int) -> list[int]:
    return [each.pid for each in psutil.process_iter() if _group_of(each.pid) == pid]


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return -1


@pytest.mark.slow(seconds=30)
def test_the_pages_show_runs_artifacts_and_versions_of_a_moved_ledger(tmp_path: Path, evidence):
    log = evidence.small_ledger(tmp_path / "old")
    push(log)
    register_hand_set(log)
    moved = log.root.rename(tmp_path / "new")
    with start_ui(moved) as server:
        assert b"<html" in answer(server.address, "/")
        api = "/api/2.0/mlflow"
        found = json.loads(answer(server.address, f"{api}/experiments/get-by-name?experiment_name=first"))
        runs = json.loads(
            answer(
                server.address,
                f"{api}/runs/search",
                {"experiment_ids": [found["experiment"]["experiment_id"]]},
            )
        )["runs"]
        assert {run["info"]["status"] for run in runs} == {"FINISHED", "FAILED"}
        failed = next(run for run in runs if run["info"]["status"] == "FAILED")
        tail = answer(server.address, f"/get-artifact?run_uuid={failed['info']['run_id']}&path=log-tail.txt")
        assert tail.startswith(b"line\n")
        version = json.loads(answer(server.address, f"{api}/model-versions/get?name=layout-cost&version=1"))
        assert version["model_version"]["version"] == "1"
    assert group(server.process.pid) == []


@contextmanager
def served(store: Path) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """A process that serves a ledger's pages, and the id of the server's group."""
    repository = str(Path(__file__).resolve().parents[2])
    command = [sys.executable, "-c", SERVE, str(store)]
    with subprocess.Popen(command, cwd=repository, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        pid, address = child.stdout.readline().split()
        assert answer(address, "/health") == b"OK"
        assert group(int(pid))
        yield child, int(pid)


@pytest.mark.slow(seconds=30)
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_server_leaves_nothing_behind(tmp_path: Path, ending: signal.Signals):
    with served(tmp_path) as (child, pid):
        child.send_signal(ending)
        assert child.wait() == 0
        assert group(pid) == []


@pytest.mark.slow(seconds=30)
def test_a_server_ends_with_a_killed_parent(tmp_path: Path):
    with served(tmp_path) as (child, pid):
        servers = [psutil.Process(each) for each in group(pid)]
        assert any("mlflow" in " ".join(each.cmdline()) for each in servers)
        child.kill()
        _, alive = psutil.wait_procs(servers, timeout=120)
        assert alive == []


def test_a_taken_port_is_said(tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InvalidInputError, match="cannot be used"):
            start_ui(tmp_path, taken.getsockname()[1])


@pytest.mark.slow
def test_a_server_that_ends_shows_the_end_of_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "tracker._ui._command", lambda *_: [sys.executable, "-c", "raise SystemExit('broken')"]
    )
    with pytest.raises(StoreUnavailableError, match="broken"):
        start_ui(tmp_path)
