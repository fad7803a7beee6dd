"""A package as an MLflow model on disk: source code and JSON, no pickle."""

import warnings
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from planner import SEGMENT_THRESHOLDS
from schemas import BUNDLE_FILE
from tracker.mlflow_store import prepare_environment
from tracker.registry._bundle import Package

MODEL_CODE = Path(__file__).with_name("layout_cost_model.py")
FEATURE_COLUMNS = (
    "packed_tokens",
    "segment_count",
    "max_depth",
    *(f"segments_below_{threshold}" for threshold in SEGMENT_THRESHOLDS),
    "tp",
    "cp",
    "layers",
    "gdn_layers",
)


def save_package(package: Package, scratch: Path) -> Path:
    """Write the model's folder: `MLmodel`, the code, `artifacts/` with the bundle and its certificates."""
    prepare_environment()
    pyfunc: Any = import_module("mlflow.pyfunc")

    files = scratch / "files"
    files.mkdir()
    artifacts: dict[str, str] = {}
    for name, data in package.files().items():
        (files / name).write_bytes(data)
        artifacts["coefficients" if name == BUNDLE_FILE else name] = str(files / name)
    folder = scratch / "model"
    with warnings.catch_warnings():
        # MLflow would rather have an example too; the signature is written by hand.
        warnings.filterwarnings("ignore", message=".*input example.*")
        pyfunc.save_model(
            path=str(folder),
            python_model=str(MODEL_CODE),
            artifacts=artifacts,
            signature=_signature(),
            pip_requirements=[f"layoutledger=={version('layoutledger')}"],
        )
    return folder


def _signature() -> Any:
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, Schema

    columns: list[Any] = [ColSpec(DataType.long, name) for name in FEATURE_COLUMNS]
    columns.append(ColSpec(DataType.long, "shared_decisions", required=False))
    columns.append(ColSpec(DataType.string, "table_id", required=False))
    return ModelSignature(inputs=Schema(columns), outputs=Schema([ColSpec(DataType.long, "work")]))
