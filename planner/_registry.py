"""The registry's door: the one module that speaks to MLflow, and imports it only when asked."""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from schemas import CorruptionError, NotFoundError, StoreUnavailableError, redact, require_module

BUNDLE_DIGEST_TAG = "ledger.bundle_digest"
"""Tag of a model version that holds its bundle's digest."""

TRACKING_VARIABLE = "MLFLOW_TRACKING_URI"
STORE_VARIABLE = "LAYOUTLEDGER_STORE"
DEFAULT_STORE = "ledger"
PROBE_TIMEOUT_S = 5.0
SQLITE = "sqlite:///"


@dataclass(frozen=True, slots=True)
class RegisteredVersion:
    """A model version as the registry knows it.

    Args:
        version: its number.
        digest: of its bundle, None where the registry holds no tag.
        location: address of its files.
    """

    version: int
    digest: str | None
    location: str


def registry_uri(uri: str | None) -> str:
    """Return the given address, else ``MLFLOW_TRACKING_URI``, else the store inside the ledger's folder."""
    chosen = uri or os.environ.get(TRACKING_VARIABLE, "").strip()
    if chosen:
        return chosen
    store = Path(os.environ.get(STORE_VARIABLE) or DEFAULT_STORE)
    return f"{SQLITE}{(store / 'mlflow' / 'mlflow.db').absolute()}"


def resolve(uri: str, name: str, *, version: int | None, alias: str | None) -> RegisteredVersion:
    """Ask the registry for a version, by number or by alias.

    Raises:
        NotFoundError: no such model, version or alias; says what there is.
        StoreUnavailableError: the registry cannot be reached.
        MissingExtraError: MLflow is not installed; a bundle's file needs none.
    """
    _probe(uri)
    client = _client(uri)
    from mlflow.exceptions import MlflowException

    try:
        if alias is not None:
            found: Any = client.get_model_version_by_alias(name, alias)
        else:
            found = client.get_model_version(name, str(version))
        location = _location(client, client.get_model_version_download_uri(name, found.version))
    except MlflowException as error:
        raise _explained(client, uri, name, version, alias, error) from error
    except OSError as error:
        raise _unreachable(uri, error) from error
    return RegisteredVersion(int(found.version), found.tags.get(BUNDLE_DIGEST_TAG), location)


@contextmanager
def files_of(uri: str, found: RegisteredVersion, bundle: str) -> Generator[Path]:
    """Give a local folder with the version's bundle; what was downloaded is gone afterwards.

    Raises:
        CorruptionError: the version's files hold no bundle.
        StoreUnavailableError: the files cannot be reached.
    """
    with tempfile.TemporaryDirectory(prefix="layoutledger-") as scratch:
        folder = _local_folder(uri, found.location) or _download(uri, found.location, scratch)
        if not folder.is_dir():
            raise StoreUnavailableError(f"{redact(found.location)}: the version's files cannot be reached")
        holding = [place for place in (folder, folder / "artifacts") if (place / bundle).is_file()]
        if not holding:
            raise CorruptionError(
                f"{redact(found.location)}: version {found.version} holds no {bundle}; "
                "no ledger registered it"
            )
        yield holding[0]


def _client(uri: str) -> Any:
    for name, value in (
        ("MLFLOW_DISABLE_TELEMETRY", "true"),
        ("MLFLOW_HTTP_REQUEST_TIMEOUT", "10"),
        ("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1"),
        ("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false"),
    ):
        os.environ.setdefault(name, value)
    require_module("mlflow")
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=uri, registry_uri=uri)


def _probe(uri: str) -> None:
    """Fail at once where MLflow would wait for minutes, or make an empty store where none is."""
    if uri.startswith(SQLITE):
        path = Path(uri.removeprefix(SQLITE))
        if not path.is_file():
            raise StoreUnavailableError(
                f"{uri}: there is no registry at this place; set {TRACKING_VARIABLE} or {STORE_VARIABLE}"
            )
        try:
            with path.open("rb") as file:
                head = file.read(16)
        except OSError as error:
            raise _unreachable(uri, error) from error
        if head not in (b"", b"SQLite format 3\0"):
            raise _unreachable(uri, ValueError("the file is no SQLite database"))
    elif uri.startswith(("http://", "https://")):
        # Loaded when needed: they take longer than the rest of the planner.
        from urllib.error import HTTPError, URLError
        from urllib.request import urlopen

        from schemas import server_request

        try:
            with urlopen(server_request(uri, "health"), timeout=PROBE_TIMEOUT_S) as answer:
                answer.read(64)
        except HTTPError:
            return  # Something answers; what it refuses, MLflow's own call says better.
        except (URLError, OSError, ValueError) as error:
            raise _unreachable(uri, error) from error


def _unreachable(uri: str, error: Exception) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"{redact(uri)}: the registry does not answer ({redact(str(error))}); "
        f"set {TRACKING_VARIABLE}, or load the bundle's file"
    )


def _location(client: Any, uri: str) -> str:
    """Follow an address of a logged model to where its files are."""
    parts = urlparse(uri)
    if parts.scheme == "models" and parts.path.strip("/").startswith("m-"):
        return str(client.get_logged_model(parts.path.strip("/").split("/")[0]).artifact_location)
    return uri


def _local_folder(uri: str, location: str) -> Path | None:
    """Return the folder of an address that names one, None for an address that must be downloaded."""
    parts = urlparse(location)
    if parts.scheme in ("", "file"):
        return Path(unquote(parts.path))
    if parts.scheme == "mlflow-artifacts" and uri.startswith(SQLITE):
        # A ledger's own store keeps files beside its database and addresses them without a path.
        root = (Path(uri.removeprefix(SQLITE)).parent / "artifacts").resolve()
        folder = (root / unquote(parts.path).strip("/")).resolve()
        return folder if folder.is_relative_to(root) else None
    return None


def _download(uri: str, location: str, target: str) -> Path:
    import mlflow.artifacts
    from mlflow.exceptions import MlflowException

    try:
        return Path(mlflow.artifacts.download_artifacts(location, dst_path=target, tracking_uri=uri))
    except (MlflowException, OSError) as error:
        raise StoreUnavailableError(
            f"{redact(location)}: the version's files cannot be read: {redact(str(error))}"
        ) from error


def _explained(
    client: Any, uri: str, name: str, version: int | None, alias: str | None, error: Any
) -> NotFoundError | StoreUnavailableError:
    """An MLflow refusal as one of ours: an unknown name, version or alias lists those that exist."""
    from mlflow.exceptions import MlflowException

    if error.error_code not in ("RESOURCE_DOES_NOT_EXIST", "NOT_FOUND", "INVALID_PARAMETER_VALUE"):
        return _unreachable(uri, error)
    try:
        model = client.get_registered_model(name)
        versions = sorted(int(item.version) for item in client.search_model_versions(f"name='{name}'"))
    except MlflowException:
        models = sorted(item.name for item in client.search_registered_models())
        return NotFoundError(
            f"{redact(uri)}: no registered model {name!r}; there are: {', '.join(models) or 'none'}"
        )
    aliases = ", ".join(f"{key} (version {value})" for key, value in sorted(model.aliases.items()))
    wanted = f"alias {alias!r}" if alias is not None else f"version {version}"
    return NotFoundError(
        f"{redact(uri)}: {name} has no {wanted}; versions: {', '.join(map(str, versions)) or 'none'}; "
        f"aliases: {aliases or 'none'}"
    )
