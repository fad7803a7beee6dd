"""Verbs name a server without its credentials, and record no secret that a person typed."""

import json

import pytest

PASSWORD, TOKEN = "hunter2-correct-horse", "t0ken-battery-staple"


@pytest.fixture
def speak(call, monkeypatch):
    """Run a verb with secrets in the environment; what it said has none of them."""
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", TOKEN)
    monkeypatch.setenv("LAYOUTLEDGER_TRACEBACK", "1")

    def run(uri, *arguments):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        outcome = call(*arguments)
        for secret in (PASSWORD, TOKEN):
            assert secret not in outcome.out + outcome.err
        return outcome

    return run


DOWN = f"http://ann:{PASSWORD}@127.0.0.1:9"


def test_a_server_that_is_down_is_named_without_its_credentials(speak, known):
    for verb in (("push",), ("pull",), ("versions", "--json"), ("verify",), ("plan", "--alias", "champion")):
        outcome = speak(DOWN, *verb)
        assert outcome.code in (6, 7) and "***@127.0.0.1:9" in outcome.err + outcome.out, verb
    assert "http://***@127.0.0.1:9" in speak(DOWN, "config", "show", "--json").out


def test_an_address_of_the_wrong_kind_is_refused_without_its_credentials(speak, known):
    outcome = speak(f"postgresql://ann:{PASSWORD}@db/mlflow", "push")
    assert outcome.code == 2 and "postgresql://***@db/mlflow" in outcome.err


def test_a_secret_that_a_person_typed_is_not_recorded(speak, known):
    cell = known.manifest("known").keys[0]
    reason = f"see http://ann:{PASSWORD}@wiki/page?token=abc, said by {TOKEN}"
    assert speak(DOWN, "exclude", "known", cell, "--reason", reason, "--reference", reason).code == 0
    recorded = json.loads(speak(DOWN, "sql", "select reason, reference from exclusions", "--json").out)
    told = "see http://***@wiki/page?token=***, said by ***"
    assert recorded == [{"reason": told, "reference": told}]
    for path in known.store.rglob("*.jsonl"):
        assert PASSWORD not in path.read_text() and TOKEN not in path.read_text()
