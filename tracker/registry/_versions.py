"""The versions as people ask for them: what each holds, where aliases point, who moved them and why."""

from dataclasses import dataclass

from planner import BUNDLE_DIGEST_TAG
from schemas import AliasMoved, VersionRegistered
from tracker.log import Log
from tracker.mlflow_store import Models, open_existing, tracking_uri
from tracker.registry._bundle import MODEL
from tracker.registry._history import Recorded, alias_moves, registrations


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
