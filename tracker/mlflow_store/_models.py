"""Registered models in a tracking store: versions, their files, aliases; typed."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from schemas import NotFoundError
from tracker.mlflow_store._records import VersionView
from tracker.mlflow_store._tracking import Tracking

WAIT_S = 30
MODELS = "models:/"
BY_ID = f"{MODELS}m-"


class Models:
    """The registry of a tracking store."""

    def __init__(self, tracking: Tracking) -> None:
        self.tracking = tracking
        self._call = tracking.call
        self._client = tracking.client

    def ensure_model(self, name: str, description: str) -> None:
        """Make the registered model where it is missing."""
        from mlflow.exceptions import MlflowException

        try:
            self._call("look up model", self._client.get_registered_model, name)
        except NotFoundError:
            try:
                self._client.create_registered_model(name, description=description)
            except MlflowException as error:
                if error.error_code != "RESOURCE_ALREADY_EXISTS":
                    raise self._call.ours("create model", error) from error

    def versions(self, name: str) -> tuple[VersionView, ...]:
        """Every version of the model, ascending; none where there is no such model."""
        aliases = self.aliases(name)
        found: list[VersionView] = []
        token: str | None = None
        while True:
            page = self._call(
                "list versions", self._client.search_model_versions, f"name = '{name}'", page_token=token
            )
            found += [_version_view(each, aliases) for each in page]
            token = page.token
            if not token:
                return tuple(sorted(found, key=lambda each: each.version))

    def aliases(self, name: str) -> dict[str, int]:
        """Where each alias points."""
        try:
            model = self._call("look up model", self._client.get_registered_model, name)
        except NotFoundError:
            return {}
        return {str(alias): int(version) for alias, version in model.aliases.items()}

    def set_alias(self, name: str, alias: str, version: int) -> None:
        """Point an alias at a version."""
        self._call("move alias", self._client.set_registered_model_alias, name, alias, str(version))

    def drop_alias(self, name: str, alias: str) -> None:
        """Remove an alias."""
        self._call("remove alias", self._client.delete_registered_model_alias, name, alias)

    def store_files(self, experiment_id: str, name: str, folder: Path, params: Mapping[str, str]) -> str:
        """Store a saved model's folder; the address that a version may give as its source.

        A server takes `models:/<id>` alone; over a database MLflow would look that up in the process's
        default store, whichever that is, so there the address is that of the files.
        """
        model = self._call(
            "store model", self._client.create_logged_model, experiment_id, name=name, params=dict(params)
        )
        self._call("store model", self._client.log_model_artifacts, model.model_id, str(folder))
        self._call("store model", self._client.finalize_logged_model, model.model_id, "READY")
        by_id = self.tracking.embedded is None
        return f"{MODELS}{model.model_id}" if by_id else str(model.artifact_location)

    def create_version(self, name: str, source: str, tags: Mapping[str, str], description: str) -> int:
        """Register stored files as the next version; its number."""
        by_id = source.startswith(BY_ID)
        made = self._call(
            "register version",
            self._client.create_model_version,
            name,
            source,
            tags=dict(tags),
            description=description,
            model_id=source.removeprefix(MODELS) if by_id else None,
            await_creation_for=WAIT_S,
        )
        return int(made.version)

    def tag_version(self, name: str, version: int, key: str, value: str) -> None:
        """Set one tag of a version."""
        self._call("tag version", self._client.set_model_version_tag, name, str(version), key, value)

    def delete_version(self, name: str, version: int) -> None:
        """Delete a version; its number is not used again."""
        self._call("delete version", self._client.delete_model_version, name, str(version))

    def read_files(self, version: VersionView) -> dict[str, bytes]:
        """Every file of a version, by path.

        Raises:
            NotFoundError: the files are gone, or are not those of a model.
        """
        from mlflow.artifacts import download_artifacts

        with tempfile.TemporaryDirectory() as folder:
            self._call(
                "read version",
                download_artifacts,
                artifact_uri=self._location(version),
                dst_path=folder,
                tracking_uri=self.tracking.uri,
            )
            # A download may repeat the name of the folder that it copies.
            roots = [path.parent for path in Path(folder).glob("**/MLmodel")]
            if len(roots) != 1:
                raise NotFoundError(f"{version.source}: the files of version {version.version} hold no model")
            root = roots[0]
            paths = sorted(path for path in root.rglob("*") if path.is_file())
            return {str(path.relative_to(root)): path.read_bytes() for path in paths}

    def _location(self, version: VersionView) -> str:
        if not version.source.startswith(BY_ID):
            return version.source
        model = version.source.removeprefix(MODELS)
        return str(self._call("look up files", self._client.get_logged_model, model).artifact_location)


def _version_view(version: Any, aliases: Mapping[str, int]) -> VersionView:
    number = int(version.version)
    return VersionView(
        version=number,
        description=str(version.description or ""),
        source=str(version.source),
        tags=dict(version.tags),
        aliases=tuple(sorted(alias for alias, target in aliases.items() if target == number)),
    )
