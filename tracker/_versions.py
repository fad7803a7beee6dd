"""Register certified tables as a coefficient version, and load a version from this ledger's registry."""

from collections.abc import Sequence
from pathlib import Path

from planner import CoefficientVersion, load
from schemas import InvalidInputError, NotFoundError, StoreUnavailableError
from tracker._certificates import latest_certificate
from tracker._ledger import Ledger
from tracker.mlflow_store import embedded_uri, tracking_uri
from tracker.registry import MODEL, make_bundle, register_bundle, registrations, version_files, versions


def register_campaigns(ledger: Ledger, campaigns: Sequence[str]) -> int:
    """Register one version with the latest certified table of each campaign; again is the same version.

    Raises:
        NotFoundError: a campaign without a certificate.
        StoreUnavailableError: the registry does not answer.
    """
    statements = [latest_certificate(ledger, campaign).statement for campaign in campaigns]
    bundle = make_bundle(statements, description="Tables of " + ", ".join(campaigns))
    return register_bundle(ledger.log, bundle, statements)


def load_version(
    ledger: Ledger, *, version: int | None = None, alias: str | None = None
) -> CoefficientVersion:
    """The version, from the registry that this ledger registers into.

    Raises:
        NotFoundError: no such version or alias.
        StoreUnavailableError: the registry does not answer, or is not there.
        CorruptionError: a digest in it does not agree.
    """
    try:
        return load(MODEL, version=version, alias=alias, tracking_uri=tracking_uri(ledger.store))
    except (NotFoundError, StoreUnavailableError) as error:
        lost = lost_versions(ledger)
        if not lost:
            raise
        raise type(error)(f"{error}; {rebuild_hint(lost)}") from error


def export_version(ledger: Ledger, version: int, folder: Path) -> list[Path]:
    """Write what a planner reads of a version, so that it loads where no registry is reached; the files.

    Raises:
        NotFoundError: no such version.
        InvalidInputError: the folder holds a version already, and it is another one; nothing is written.
        CorruptionError: the registry's files are not what was registered.
        StoreUnavailableError: the registry does not answer, or the folder cannot be written.
    """
    files = version_files(ledger.log, version)
    for name, data in files.items():
        if (folder / name).exists() and (folder / name).read_bytes() != data:
            raise InvalidInputError(f"{folder / name}: holds something else; name another folder (--output)")
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in files]


def lost_versions(ledger: Ledger) -> tuple[int, ...]:
    """Versions that the log records and the registry in the ledger's folder lacks; none for a server.

    A copied log is one reason, a deleted folder another.
    """
    uri = tracking_uri(ledger.store)
    if uri != embedded_uri(ledger.store):
        return ()
    recorded = {each.fact.version for each in registrations(ledger.log)}
    return tuple(sorted(recorded - {each.version for each in versions(ledger.log, uri)}))


def rebuild_hint(lost: Sequence[int]) -> str:
    """What to do about `lost_versions`."""
    numbers = ", ".join(map(str, lost))
    noun = "version" if len(lost) == 1 else "versions"
    return f"the log records {noun} {numbers} of {MODEL}: `layoutledger rebuild` puts back what is missing"
