"""Rows, tables and facts that the planner's tests share."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import strategies as st

from planner import DeviceClass, ModelGeometry, ParallelShape, RuntimeFacts, ScoringFacts
from tests.planner import batches
from tests.planner.bundles import (
    CPU_GEOMETRY,
    DENSE_TABLE,
    H200_GEOMETRY,
    MODEL_NAME,
    Registry,
    Written,
)
from tests.planner.bundles import write_bundle as write_bundle_into

GOLDEN_FACTS = [
    ScoringFacts(1, 1, 32, 24, True),
    ScoringFacts(4, 1, 32, 24, True),
    ScoringFacts(1, 2, 32, 24, True),
    ScoringFacts(2, 1, 36, 0, False),
    ScoringFacts(4, 1, 36, 0, False),
    ScoringFacts(1, 1, 2, 0, False),
]


@pytest.fixture(scope="session")
def dense_table():
    """The table that the origin project published for H200."""
    return DENSE_TABLE


@pytest.fixture(scope="session")
def golden_cases(shared):
    path: Path = shared / "evidence" / "golden_planner" / "public.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="session")
def make_rows():
    return batches.rows_of


@pytest.fixture(scope="session")
def make_grpo():
    return batches.grpo


@pytest.fixture(scope="session")
def row_sets():
    """A strategy for pieces: shared starts, exact duplicates, prefixes of one another, several roots."""
    return batches.row_sets


@pytest.fixture(scope="session")
def facts_sets():
    return st.sampled_from(GOLDEN_FACTS)


@pytest.fixture(scope="session")
def tables():
    few = {"token_per_rank": 1}, {"tiny_segment_per_layer": 7, "gdn_level": 1}, {"token_cp_exchange": 3}
    return st.sampled_from([None, DENSE_TABLE, *few])


@pytest.fixture
def write_bundle(tmp_path):
    """``write_bundle(*names, folder="bundle")``: tables `h200` and `cpu` are there."""

    def write(*names, folder="bundle", **more) -> Written:
        return write_bundle_into(tmp_path / folder, *names, **more)

    return write


@pytest.fixture
def h200_runtime():
    """A runtime inside the `h200` table's domain."""
    return RuntimeFacts(
        DeviceClass.cuda(9, 0, 141 * 2**30),
        "torch.bfloat16",
        ModelGeometry(**H200_GEOMETRY),
        ParallelShape(tp=1, cp=4),
        layers=32,
        gdn_layers=24,
    )


@pytest.fixture
def cpu_runtime():
    """A runtime inside the `cpu` table's domain."""
    return RuntimeFacts(
        DeviceClass.cpu("xeon", 8 * 2**30),
        "float32",
        ModelGeometry(**CPU_GEOMETRY),
        ParallelShape(),
        layers=4,
    )


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path, monkeypatch):
    """Every test resolves anew, warns anew and knows no registry."""
    monkeypatch.setenv("LAYOUTLEDGER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr("planner._version._warned", set())


@pytest.fixture(scope="session")
def random_rows():
    return batches.random_rows


@pytest.fixture(scope="session")
def random_price():
    return batches.random_price


@pytest.fixture(scope="session")
def empty_registry(tmp_path_factory):
    """Copied from the template of an embedded store: MLflow takes seconds to make its tables."""
    from tracker.mlflow_store import ensure_database

    database = tmp_path_factory.mktemp("registry") / "mlflow.db"
    ensure_database(database)
    return database


@pytest.fixture
def registry(tmp_path, empty_registry):
    database = tmp_path / "mlflow" / "mlflow.db"
    database.parent.mkdir()
    shutil.copy(empty_registry, database)
    found = Registry(database)
    found.client.create_registered_model(MODEL_NAME)
    return found
