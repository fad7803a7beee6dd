"""A version's package read back from the registry, checked against what the log recorded of it."""

import json
from typing import Any

from schemas import (
    BUNDLE_FILE,
    CoefficientBundle,
    CorruptionError,
    InvalidInputError,
    NotFoundError,
    Statement,
    VersionRegistered,
    redact,
)
from tracker.log import Log
from tracker.mlflow_store import Models, VersionView
from tracker.registry._bundle import MODEL, Package, pack
from tracker.registry._history import registrations

FILES_FOLDER = "artifacts"


def find_version(models: Models, version: int) -> VersionView:
    """The version of this number.

    Raises:
        NotFoundError: there is none; says which there are.
    """
    every = models.versions(MODEL)
    for each in every:
        if each.version == version:
            return each
    known = ", ".join(str(each.version) for each in every) or "none"
    raise NotFoundError(f"{redact(models.tracking.uri)}: {MODEL} has no version {version}; versions: {known}")


def read_package(models: Models, version: VersionView) -> Package:
    """The bundle and certificates among a version's files.

    Raises:
        NotFoundError: a file is missing.
        CorruptionError: a file does not say what it has to.
    """
    files = models.read_files(version)
    where = f"{MODEL} version {version.version}"
    bundle = CoefficientBundle.parse(_json(files, BUNDLE_FILE, where), where=f"{where}: {BUNDLE_FILE}")
    statements = [
        Statement.parse(
            _json(files, table.certificate_file, where), where=f"{where}: {table.certificate_file}"
        )
        for table in bundle.tables
    ]
    try:
        package = pack(bundle, statements)
    except InvalidInputError as error:
        raise CorruptionError(f"{where}: {error}") from error
    changed = [name for name, data in package.files().items() if files.get(f"{FILES_FOLDER}/{name}") != data]
    if changed:
        raise CorruptionError(
            f"{where}: {', '.join(changed)}: not the bytes that were registered; "
            "restore the registry's artifacts, or rebuild"
        )
    return package


def recorded_version(log: Log, version: int) -> VersionRegistered | None:
    """What the log says of a version; None where it does not know it."""
    facts = (each.fact for each in registrations(log))
    return next((fact for fact in facts if fact.version == version), None)


def _json(files: dict[str, bytes], name: str, where: str) -> Any:
    path = f"{FILES_FOLDER}/{name}"
    if path not in files:
        raise NotFoundError(
            f"{where}: {name} is missing among its files; restore the registry's artifacts, or rebuild"
        )
    try:
        return json.loads(files[path])
    except (ValueError, RecursionError) as error:
        raise CorruptionError(
            f"{where}: {name} is not JSON: {error}; restore the registry's artifacts, or rebuild"
        ) from error
