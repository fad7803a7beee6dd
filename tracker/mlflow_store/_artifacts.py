"""`mlflow-artifacts:` without a server: files beside the database, wherever the ledger's folder lies today.

MLflow stores artifact locations as absolute paths, so a moved folder breaks. An address of this scheme names
no path; a server resolves it by `--artifacts-destination`, and this repository by the place of the database.
"""

import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from mlflow.store.artifact.local_artifact_repo import LocalArtifactRepository

from schemas import InvalidInputError
from tracker.mlflow_store._environment import ARTIFACTS, SQLITE, sqlite_path

SCHEME = "mlflow-artifacts"


class BesideDatabaseRepository(LocalArtifactRepository):
    """Artifacts of an embedded store: `<folder of the database>/artifacts/<path of the address>`."""

    def __init__(self, artifact_uri: str, database: Path, registry_uri: str | None = None) -> None:
        root = (database.parent / ARTIFACTS).absolute()
        folder = (root / unquote(urlparse(artifact_uri).path).strip("/")).resolve()
        if not folder.is_relative_to(root.resolve()):
            raise InvalidInputError(f"{artifact_uri}: an artifact address that leads out of {root}")
        super().__init__(folder.as_uri(), f"{SQLITE}{database}", registry_uri)


def artifact_repository(
    artifact_uri: str, tracking_uri: str | None = None, registry_uri: str | None = None
) -> Any:
    """The repository of an `mlflow-artifacts:` address: local for an embedded store, else the server's."""
    # MLflow may be loading this very module as a plugin: what it has not defined yet is imported when needed.
    from mlflow.store.artifact.mlflow_artifacts_repo import MlflowArtifactsRepository
    from mlflow.tracking import get_tracking_uri

    tracking = tracking_uri or get_tracking_uri()
    database = sqlite_path(tracking)
    if database is None:
        return MlflowArtifactsRepository(artifact_uri, tracking_uri=tracking, registry_uri=registry_uri)
    return BesideDatabaseRepository(artifact_uri, database, registry_uri)


def stored_files(artifact_uri: str, tracking_uri: str) -> dict[str, bytes]:
    """Every file at a run's artifact address, by path; none where there is no such place."""
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    repository: Any = get_artifact_repository(artifact_uri, tracking_uri=tracking_uri)
    with tempfile.TemporaryDirectory() as folder:
        local = isinstance(repository, LocalArtifactRepository)
        root = Path(repository.artifact_dir if local else repository.download_artifacts("", folder))
        files = sorted(path for path in root.rglob("*") if path.is_file())
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def register_repository() -> None:
    """Let MLflow resolve `mlflow-artifacts:` addresses of embedded stores in this process."""
    from mlflow.store.artifact.artifact_repository_registry import get_registered_artifact_repositories

    get_registered_artifact_repositories()[SCHEME] = artifact_repository  # pyright: ignore[reportArgumentType]
