"""The tracking store under a ledger's projections: MLflow embedded in the folder, or a server.

Importing this package does not import MLflow (two seconds); `connect` does.
"""

from tracker.mlflow_store._environment import (
    ARTIFACTS,
    database_path,
    embedded_uri,
    prepare_environment,
    sqlite_path,
    tracking_uri,
)
from tracker.mlflow_store._models import Models
from tracker.mlflow_store._records import MetricPoint, RunView, SealedError, VersionView
from tracker.mlflow_store._sealing import (
    SEAL_TAG,
    missing_triggers,
    postgresql_sealing,
    seal_database,
    sqlite_triggers,
)
from tracker.mlflow_store._template import ensure_database, file_lock
from tracker.mlflow_store._tracking import Tracking, connect, open_existing

__all__ = [
    "ARTIFACTS",
    "SEAL_TAG",
    "MetricPoint",
    "Models",
    "RunView",
    "SealedError",
    "Tracking",
    "VersionView",
    "connect",
    "database_path",
    "embedded_uri",
    "ensure_database",
    "file_lock",
    "missing_triggers",
    "open_existing",
    "postgresql_sealing",
    "prepare_environment",
    "seal_database",
    "sqlite_path",
    "sqlite_triggers",
    "tracking_uri",
]
