import os
from pathlib import Path

import pytest

from schemas import InvalidInputError
from tracker.mlflow_store import embedded_uri, sqlite_path, tracking_uri
from tracker.mlflow_store._environment import prepare_environment


def test_the_default_lies_inside_the_ledger(tmp_path: Path):
    assert tracking_uri(tmp_path) == embedded_uri(tmp_path)
    assert sqlite_path(tracking_uri(tmp_path)) == tmp_path / "mlflow" / "mlflow.db"


def test_the_variable_is_honoured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:1")
    assert tracking_uri(tmp_path) == "http://127.0.0.1:1"


@pytest.mark.parametrize("uri", ["./mlruns", "file:///x", "databricks", "postgresql://me:secret@host/db"])
def test_other_kinds_of_store_are_refused_without_showing_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uri: str
):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    with pytest.raises(InvalidInputError) as refused:
        tracking_uri(tmp_path)
    assert "secret" not in str(refused.value)


def test_mlflow_neither_phones_home_nor_cuts_values(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("MLFLOW_DISABLE_TELEMETRY", raising=False)
    monkeypatch.setenv("MLFLOW_TRUNCATE_LONG_VALUES", "true")
    prepare_environment()
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"
    assert os.environ["MLFLOW_TRUNCATE_LONG_VALUES"] == "false"
