"""`doctor`: findings for people and scripts, and an exit code for what is broken."""

import json

import pytest

from tracker.doctor import Finding


@pytest.mark.slow(seconds=20)
def test_a_sound_ledger_passes(call, known):
    outcome = call("doctor", "--json")
    told = json.loads(outcome.out)
    assert outcome.code == 0, outcome.err
    assert told["healthy"] is True
    parts = {each["part"] for each in told["findings"]}
    assert parts >= {
        "store",
        "tracking server",
        "versions",
        "torch",
        "devices",
        "disk",
        "permissions",
        "clock",
    }
    assert {each["state"] for each in told["findings"]} <= {"ok", "note", "warning"}


def test_what_is_broken_is_said_with_its_remedy_and_its_code(call, store, monkeypatch):
    other = Finding("torch", "note", "left out: this test is of the server")
    monkeypatch.setattr("tracker.doctor.software_checks", lambda: (lambda: iter([other]),))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    outcome = call("doctor")
    assert outcome.code == 14
    assert "http://127.0.0.1:9: no answer" in outcome.err and "start the server" in outcome.err
    assert "broken\ttracking server\t" in outcome.out and "note\ttorch\t" in outcome.out


def test_a_settings_file_that_is_wrong_is_a_finding(call, known, tmp_path, monkeypatch):
    (tmp_path / "layoutledger.toml").write_text("stor = 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tracker.doctor.software_checks", lambda: ())
    outcome = call("doctor", "--json")
    assert outcome.code == 14
    first = json.loads(outcome.out)["findings"][0]
    assert first["part"] == "settings" and "layoutledger.toml:1: stor" in first["found"]
