"""The versions as people ask for them: what each holds, where aliases point, who moved them and why."""

from dataclasses import dataclass

from planner import BUNDLE_DIGEST_TAG
from schemas import AliasMoved, NotFoundError, VersionRegistered, redact
from tracker.log import Log
from tracker.mlflow_store import Models, open_existing, tracking_uri
from tracker.registry._bundle import MODEL
from tracker.registry._history import Recorded, alias_moves, registrations
from tracker.registry._read import find_version, read_package


@dataclass(frozen=True, slots=True)
class Version:
    """One coefficient version.

    Args:
        version: its number.
        bundle_digest: as the registry tags it.
        description: Markdown, rendered from the certificates.
        aliases: that point to it now.
        registered: what the log recorded; None where this ledger's log does not know the version.
    """

    version: int
    bundle_digest: str | None
    description: str
    aliases: tuple[str, ...]
    registered: Recorded[VersionRegistered] | None


def versions(log: Log, uri: str | None = None) -> tuple[Version, ...]:
    """Every version of the registered model, ascending; none where nothing was registered.

    Raises:
        StoreUnavailableError: the registry does not answer.
    """
    tracking = open_existing(uri or tracking_uri(log.root))
    if tracking is None:
        return ()
    recorded = {each.fact.version: each for each in reversed(registrations(log))}
    return tuple(
        Version(
            version=each.version,
            bundle_digest=each.tags.get(BUNDLE_DIGEST_TAG),
            description=each.description,
            aliases=each.aliases,
            registered=recorded.get(each.version),
        )
        for each in Models(tracking).versions(MODEL)
    )


def alias_history(log: Log, alias: str | None = None) -> tuple[Recorded[AliasMoved], ...]:
    """Every recorded move of an alias, or of all, in order: when, who, why."""
    return alias_moves(log, alias)


def version_files(log: Log, version: int, uri: str | None = None) -> dict[str, bytes]:
    """What a planner reads of a version, by file name: the bundle, and the certificate of each table.

    Raises:
        NotFoundError: no such version, or one of its files is missing.
        CorruptionError: a file does not say what was registered.
        StoreUnavailableError: the registry does not answer.
    """
    where = uri or tracking_uri(log.root)
    tracking = open_existing(where)
    if tracking is None:
        raise NotFoundError(
            f"{redact(where)}: {MODEL} has no version {version}; nothing was registered there"
        )
    models = Models(tracking)
    return read_package(models, find_version(models, version)).files()
