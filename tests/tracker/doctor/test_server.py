"""What a tracking server can do wrong, over real sockets."""

import json
import socket
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version
from pathlib import Path
from threading import Thread

import pytest

from tracker.doctor import _server
from tracker.doctor._finding import Finding, examine
from tracker.doctor._server import server_checks


class Speaker(BaseHTTPRequestHandler):
    """Answers as the server's `answers` say: by path a status and a body."""

    def do_GET(self) -> None:
        status, body = self.server.answers.get(self.path, (404, ""))
        self.server.heard.append(self.headers.get("Authorization"))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())

    do_POST = do_GET

    def date_time_string(self, timestamp=None) -> str:
        return formatdate(None if self.server.clock is None else self.server.clock, usegmt=True)

    def log_message(self, *arguments) -> None:
        pass


@pytest.fixture
def speaker() -> Iterator[HTTPServer]:
    server = HTTPServer(("127.0.0.1", 0), Speaker)
    server.clock, server.heard = None, []
    search = "/api/2.0/mlflow/experiments/search"
    server.answers = {
        "/health": (200, "OK"),
        "/version": (200, version("mlflow")),
        search: (200, json.dumps({"experiments": []})),
    }
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def run(uri: str) -> list[Finding]:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        return list(examine("tracking server", server_checks(tmp_path)))

    return run


def address(server: HTTPServer, user: str = "") -> str:
    return f"http://{user}127.0.0.1:{server.server_port}"


def test_a_server_that_answers_is_fine(speaker, examined):
    findings = examined(address(speaker))
    assert {each.state for each in findings} == {"ok"}
    assert any("agrees with the tracking server's" in each.found for each in findings)


def test_no_server_is_asked_where_the_store_is_embedded(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (finding,) = examine("tracking server", server_checks(tmp_path))
    assert finding.state == "ok" and "mlflow.db" in finding.found


def test_credentials_are_sent_and_not_told(speaker, examined):
    findings = examined(address(speaker, "ann:hunter2@"))
    assert {each.state for each in findings} == {"ok"}
    assert set(speaker.heard) == {"Basic YW5uOmh1bnRlcjI="}
    assert all("hunter2" not in each.found + each.remedy for each in findings)


def test_a_token_is_sent_and_not_told(speaker, examined, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "t0ken-of-ann")
    assert all("t0ken" not in each.found for each in examined(address(speaker)))
    assert set(speaker.heard) == {"Bearer t0ken-of-ann"}


def test_a_dead_address_is_broken(examined):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (broken,) = examined(f"http://ann:hunter2@127.0.0.1:{port}")
    assert broken.state == "broken" and "push" in broken.remedy
    assert "***@127.0.0.1" in broken.found and "hunter2" not in broken.found


def test_a_silent_server_is_broken_and_not_waited_for(examined, monkeypatch):
    monkeypatch.setattr(_server, "PATIENCE_S", 0.3)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        (broken,) = examined(f"http://127.0.0.1:{silent.getsockname()[1]}")
    assert broken.state == "broken" and "no answer within 0.3 s" in broken.found


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/health", 404, "no MLflow server"),
        ("/health", 401, "credentials are refused"),
        ("/api/2.0/mlflow/experiments/search", 403, "answers 403"),
        ("/api/2.0/mlflow/experiments/search", 500, "answers 500"),
    ],
)
def test_a_server_that_refuses_is_broken(speaker, examined, path, status, says):
    speaker.answers[path] = (status, "")
    broken = [each for each in examined(address(speaker)) if each.state == "broken"]
    assert len(broken) == 1 and says in broken[0].found and broken[0].remedy


def test_another_version_is_a_warning(speaker, examined):
    speaker.answers["/version"] = (200, "2.1.0")
    (warning,) = [each for each in examined(address(speaker)) if each.state == "warning"]
    assert "MLflow 2.1.0" in warning.found


def test_a_clock_that_is_off_is_a_warning(speaker, examined):
    speaker.clock = 1_000_000.0
    (warning,) = [each for each in examined(address(speaker)) if each.state == "warning"]
    assert warning.part == "clock" and "time server" in warning.remedy


@pytest.mark.parametrize("uri", ["postgresql://ann:hunter2@db/x", "sqlite:////no/such/folder/m.db"])
def test_an_address_that_cannot_be_used_is_broken(examined, uri):
    (broken,) = examined(uri)
    assert broken.state == "broken" and "hunter2" not in broken.found
