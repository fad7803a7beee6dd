"""Credentials in the environment reach no output, no event, no run, no file of the ledger."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PASSWORD, TOKEN = "hunter2-correct-horse", "t0ken-battery-staple"
SECRETS = (PASSWORD, TOKEN)
CAMPAIGN = """
campaign = "failing"
table_id = "t"
[protocol]
rounds = 1
required = 1
extra_rounds = 9
disturbed_pct = 1e9
[holdout]
contains = ["held-"]
[fit]
terms = ["token_per_rank"]
[models.small]
preset = "hybrid-small"
[workloads.w]
kind = "grpo"
parameters = { prompts = 1, completions = 2, system = 8, prompt = 8, completion = 4 }
[[cells]]
workloads = ["w"]
models = ["small"]
shapes = ["tp1cp1"]
"""


class Speaker:
    """Runs verbs as processes and keeps everything that they said."""

    def __init__(self, store: Path, uri: str) -> None:
        self.store = store
        self.said = ""
        self.environment = {
            **os.environ,
            "LAYOUTLEDGER_STORE": str(store),
            "LAYOUTLEDGER_TRACEBACK": "1",
            "MLFLOW_TRACKING_URI": uri,
            "MLFLOW_TRACKING_TOKEN": TOKEN,
            "MLFLOW_HTTP_REQUEST_TIMEOUT": "120",
            "LAYOUTLEDGER_CACHE": str(store.parent / "cache"),
            "OMP_NUM_THREADS": "1",
        }

    def __call__(self, *arguments: object, **environment: str) -> int:
        done = subprocess.run(
            [sys.executable, "-m", "tracker", *map(str, arguments)],
            capture_output=True,
            text=True,
            env={**self.environment, **environment},
            timeout=300,
        )
        self.said += done.stdout + done.stderr
        self.last = done.stdout
        return done.returncode


def leaks(text: bytes) -> list[str]:
    return [secret for secret in SECRETS if secret.encode() in text]


def ledger_leaks(store: Path) -> list[tuple[str, str]]:
    files = [path for path in store.rglob("*") if path.is_file()]
    assert files
    return [(str(path), secret) for path in files for secret in leaks(path.read_bytes())]


def test_what_a_dying_worker_wrote_is_recorded_without_credentials(tmp_path, monkeypatch):
    from tracker._ledger import Ledger
    from tracker._measuring import LogAttempt

    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", TOKEN)
    ledger = Ledger(tmp_path / "ledger")
    attempt = LogAttempt(ledger.log.open_segment("c", "attempt", {"cell": "x"}))
    tail = f"requests.exceptions.HTTPError: http://ann:{PASSWORD}@host refused Bearer {TOKEN}"
    failed = {"cell": "x", "kind": "exception", "message": tail, "log_tail": tail, "samples": 0}
    attempt.append("cell.failed", failed, durable=True)
    attempt.seal()
    assert ledger_leaks(ledger.store) == []
    assert "http://***@host refused" in ledger.log.segments()[0].path.read_text()


@pytest.mark.slow(seconds=90)
def test_a_whole_job_at_a_server_with_credentials_leaves_none_behind(campaigns, tmp_path):
    from tracker._ui import start_ui
    from tracker.mlflow_store import connect, embedded_uri

    host = tmp_path / "host"
    connect(embedded_uri(host))
    ledger = campaigns.known_ledger(tmp_path / "ledger")
    campaign = tmp_path / "failing.toml"
    campaign.write_text(CAMPAIGN)
    with start_ui(host) as server:
        speak = Speaker(ledger.store, server.address.replace("http://", f"http://ann:{PASSWORD}@"))
        assert speak("doctor", "--json") in (0, 14)  # A busy machine may find the server slow.
        assert speak("campaign", "run", campaign) == 0
        assert speak("fit", "known", "--method", "nnls") == 0
        assert speak("certify", "known", "--json") == 0
        digest = json.loads(speak.last)["digest"]
        assert speak("register", "known") == 0
        for aspect, verdict in (("correctness", "clear"), ("adoption", "approve")):
            options = ("--aspect", aspect, "--verdict", verdict, "--reason", f"seen by {TOKEN}")
            assert speak("review", "add", digest, *options) == 0
        assert speak("promote", "2", "--reason", f"by {PASSWORD}") == 0
        assert speak("hold", "add", "2", "--reason", f"for {TOKEN}") == 0
        for verb in (("push",), ("pull",), ("versions",), ("plan", "--version", "2", "--campaign", "known")):
            assert speak(*verb) == 0, speak.said
        assert speak("push") == 0
        assert speak("verify") == 6  # The hold on what is promoted.
    assert leaks(speak.said.encode()) == []
    assert ledger_leaks(ledger.store) == []
    assert ledger_leaks(host) == []
    assert ledger_leaks(tmp_path / "cache") == []
