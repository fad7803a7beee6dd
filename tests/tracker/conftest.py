"""Fixtures for tests of the projections."""

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest


def _helpers(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tracker_{name}", Path(__file__).parent / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def evidence() -> ModuleType:
    """The helpers of `evidence.py`: evidence written by the real log."""
    return _helpers("evidence")


@pytest.fixture(scope="session")
def campaigns() -> ModuleType:
    """The helpers of `campaigns.py`: a measured campaign whose true table is known."""
    return _helpers("campaigns")


@pytest.fixture(scope="session")
def calibration() -> ModuleType:
    """The helpers of `calibration.py`: calibration records of the origin project's form."""
    return _helpers("calibration")


@pytest.fixture(scope="session")
def known_once(campaigns, tmp_path_factory) -> Path:
    """The campaign `known`, measured in full, its views made: to be copied, as a ledger's folder can be."""
    ledger = campaigns.known_ledger(tmp_path_factory.mktemp("known") / "ledger")
    ledger.warehouse.refresh()
    return ledger.store


@pytest.fixture(scope="session")
def certified_once(known_once, tmp_path_factory) -> Path:
    """The same, fitted and certified: to be copied."""
    from tracker._certificates import certify_fit
    from tracker._fits import fit_campaign
    from tracker._ledger import Ledger

    ledger = Ledger(shutil.copytree(known_once, tmp_path_factory.mktemp("certified") / "ledger"))
    certify_fit(ledger, "known", fit_campaign(ledger, "known").id)
    return ledger.store


@pytest.fixture(autouse=True)
def embedded_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests use a ledger's own tracking store unless they say otherwise."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
