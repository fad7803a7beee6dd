"""Registering: a bundle with its certificates becomes the next version of the model, and a fact."""

import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from schemas import CoefficientBundle, CorruptionError, Statement, Unit, VersionRegistered
from tracker.log import Log, crash_point
from tracker.mlflow_store import SEAL_TAG, Models, VersionView, connect, file_lock, tracking_uri
from tracker.registry._bundle import MODEL, Package, hand_set_package, pack
from tracker.registry._history import registrations
from tracker.registry._pyfunc import save_package

MODEL_DESCRIPTION = (
    "Cost of a prefix-tree layout. The version number is the coefficient version; "
    "version 1 is the hand-set score. Each version holds `coefficients.json` and the certificates of "
    "its tables."
)
EXPERIMENT_TAGS = {"ledger.campaign": MODEL, "mlflow.experimentKind": "custom_model_development"}


def register_hand_set(log: Log, uri: str | None = None) -> int:
    """Register version 1, the hand-set score without tables; where it is there, nothing changes.

    Raises:
        StoreUnavailableError: the registry does not answer.
        CorruptionError: version 1 of the registry is something else.
    """
    version = _register(log, uri, hand_set_package())
    if version != 1:
        raise CorruptionError(
            f"{uri or tracking_uri(log.root)}: the hand-set score is version {version} of {MODEL}, "
            "expected 1; the registry was used by something else: give the ledger a registry of its own"
        )
    return version


def register_bundle(
    log: Log, bundle: CoefficientBundle, certificates: Sequence[Statement], uri: str | None = None
) -> int:
    """Register certified tables as the next version; the same bundle again is the version that it has.

    Args:
        log: where the registration is recorded.
        bundle: one or more tables.
        certificates: the certificate of each table, in any order.
        uri: the registry; `MLFLOW_TRACKING_URI` or the embedded one where omitted.

    Raises:
        InvalidInputError: a table without its certificate, or saying other than it.
        StoreUnavailableError: the registry does not answer.
    """
    package = pack(bundle, certificates)
    if package.bundle.tables:
        register_hand_set(log, uri)
    return _register(log, uri, package)


def _register(log: Log, uri: str | None, package: Package) -> int:
    models = Models(connect(uri or tracking_uri(log.root)))
    with registry_lock(log.root):
        return _register_once(log, models, package)


def registry_lock(root: Path) -> AbstractContextManager[None]:
    """One process of this ledger at a time makes versions; raises `StoreUnavailableError` as `file_lock`."""
    return file_lock(root / "mlflow" / ".registry.lock")


def _register_once(log: Log, models: Models, package: Package) -> int:
    models.ensure_model(MODEL, MODEL_DESCRIPTION)
    found = _registered(models, package)
    version = create_version(models, package) if found is None else found.version
    # A sealed version is recorded already, here or in the ledger that others will pull it from.
    if found is None or SEAL_TAG not in found.tags:
        if all(each.fact.version != version for each in registrations(log)):
            _record(log, version, package)
        crash_point("register.recorded")
        models.tag_version(MODEL, version, SEAL_TAG, package.seal())
    return version


def _record(log: Log, version: int, package: Package) -> None:
    fact = VersionRegistered(
        model=MODEL,
        version=version,
        bundle_digest=package.bundle.digest,
        tables=package.tables(),
        memory_digest=package.bundle.memory.digest if package.bundle.memory else None,
        bundle=package.bundle,
    )
    with log.open_segment(MODEL, Unit.REGISTRATION, {"version": str(version)}) as segment:
        segment.append("version.registered", fact.plain())


def _registered(models: Models, package: Package) -> VersionView | None:
    tags = package.tags()
    alike = (
        version
        for version in models.versions(MODEL)
        if all(version.tags.get(key) == value for key, value in tags.items())
    )
    return next(alike, None)


def create_version(models: Models, package: Package) -> int:
    """Store a package's files and make them the next version; its number. The seal is for the caller."""
    experiment = models.tracking.ensure_experiment(MODEL, EXPERIMENT_TAGS)
    with tempfile.TemporaryDirectory() as scratch:
        folder = save_package(package, Path(scratch))
        digest = {"bundle_digest": package.bundle.digest}
        source = models.store_files(experiment, MODEL, folder, digest)
    crash_point("register.stored")
    version = models.create_version(MODEL, source, package.tags(), package.description())
    crash_point("register.created")
    return version
