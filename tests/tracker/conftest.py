"""Fixtures for tests of the projections."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def evidence() -> ModuleType:
    """The helpers of `evidence.py`: evidence written by the real log."""
    spec = importlib.util.spec_from_file_location("tracker_evidence", Path(__file__).parent / "evidence.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def embedded_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests use a ledger's own tracking store unless they say otherwise."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
