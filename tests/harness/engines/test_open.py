"""Engines by name; what is wrong is said before anything starts."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from harness.engines import ENGINES, LocalEngine, open_engine
from schemas import InvalidInputError, MeasurementError, MissingExtraError


def test_the_local_engine_needs_nothing() -> None:
    with open_engine("local") as engine:
        assert isinstance(engine, LocalEngine)
        assert engine.name == "local"


def test_an_unknown_engine_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidInputError, match=" and ".join(ENGINES)), open_engine("slurm"):
        pass


def test_one_machine_has_no_address() -> None:
    with pytest.raises(InvalidInputError, match="leave it out"), open_engine("local", address="head:6379"):
        pass


def test_without_ray_the_extra_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    refused = pytest.raises(MissingExtraError, match=r"pip install 'layoutledger\[ray\]'")
    with refused, open_engine("ray"):
        pass


def test_ray_is_loaded_only_for_its_engine() -> None:
    code = "import sys, harness, tracker.cli; print('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_an_address_where_no_cluster_answers_is_named() -> None:
    if find_spec("ray") is None:
        pytest.skip("the extra `ray` is not installed")
    refused = pytest.raises(MeasurementError, match=r"no Ray cluster at 127\.0\.0\.1:1")
    with refused, open_engine("ray", address="127.0.0.1:1"):
        pass
