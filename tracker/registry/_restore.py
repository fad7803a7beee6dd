"""A lost registry made again from the log: the same versions under the same numbers, then the aliases."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from planner import BUNDLE_DIGEST_TAG
from schemas import CorruptionError, InvalidInputError, NotFoundError, Statement, VersionRegistered
from tracker.log import Log
from tracker.mlflow_store import SEAL_TAG, Models, VersionView, connect, tracking_uri
from tracker.registry._bundle import MODEL, Package, hand_set_package, make_bundle, pack
from tracker.registry._history import registrations
from tracker.registry._promote import recorded_aliases
from tracker.registry._register import MODEL_DESCRIPTION, create_version, registry_lock

StatementOf = Callable[[str], Statement]
"""The certificate of a digest; raises `NotFoundError`."""


@dataclass(frozen=True, slots=True)
class RestoredRegistry:
    """What was made again: numbers of versions, and aliases with the version that they point to."""

    versions: tuple[int, ...] = ()
    aliases: Mapping[str, int] = field(default_factory=dict[str, int])


def restore_registry(log: Log, statement_of: StatementOf, uri: str | None = None) -> RestoredRegistry:
    """Register what the log recorded and the registry lacks, in order; then set the aliases that are missing.

    What is there stays as it is, aliases that point elsewhere too (`verify` reports those). Nothing is
    recorded: the log holds it all.

    Args:
        log: its registrations and alias moves.
        statement_of: makes a certificate again, by its digest.
        uri: the registry; `MLFLOW_TRACKING_URI` or the embedded one where omitted.

    Raises:
        NotFoundError: a certificate cannot be made from this log; no version was made.
        CorruptionError: what was recorded and what is there or comes out disagree, in content or in number;
            aliases are as they were.
        StoreUnavailableError: the registry does not answer.
    """
    recorded = _recorded(log)
    if not recorded:
        return RestoredRegistry()
    models = Models(connect(uri or tracking_uri(log.root)))
    with registry_lock(log.root):
        found = {each.version: each for each in models.versions(MODEL)}
        made = tuple(number for number in recorded if number not in found)
        _refuse_other_content(models, recorded, found)
        _refuse_other_numbers(models, made, found)
        # A version without its seal was left by a crash.
        wanted = [n for n in recorded if n not in found or SEAL_TAG not in found[n].tags]
        packages = {number: _package(recorded[number], statement_of) for number in wanted}
        models.ensure_model(MODEL, MODEL_DESCRIPTION)
        for number, package in packages.items():
            if number not in found:
                _create(models, number, package)
            models.tag_version(MODEL, number, SEAL_TAG, package.seal())
        return RestoredRegistry(made, _restore_aliases(log, models))


def _recorded(log: Log) -> dict[int, VersionRegistered]:
    """The registration of each number, ascending.

    Raises:
        CorruptionError: two registrations of one number say different things.
    """
    facts: dict[int, VersionRegistered] = {}
    for each in registrations(log):
        first = facts.setdefault(each.fact.version, each.fact)
        if first.bundle_digest != each.fact.bundle_digest:
            raise CorruptionError(
                f"segment {each.segment}: registers {MODEL} version {first.version} as bundle "
                f"{each.fact.bundle_digest}, an earlier one as {first.bundle_digest}; "
                "two registries were used: keep each in a ledger of its own"
            )
    return dict(sorted(facts.items()))


def _package(fact: VersionRegistered, statement_of: StatementOf) -> Package:
    where = f"{MODEL} version {fact.version}"
    if not fact.tables:
        package = hand_set_package()
    else:
        statements = [_statement(where, table.certificate, statement_of) for table in fact.tables]
        # Older registrations do not hold the bundle; the command line described it so.
        campaigns = ", ".join(statement.predicate.campaign for statement in statements)
        bundle = fact.bundle or make_bundle(statements, description=f"Tables of {campaigns}")
        package = pack(bundle, statements)
    if package.bundle.digest != fact.bundle_digest:
        raise CorruptionError(
            f"{where}: the log gives a bundle of digest {package.bundle.digest}, recorded is "
            f"{fact.bundle_digest}; it cannot be made again, restore the registry from a copy"
        )
    return package


def _statement(where: str, digest: str, statement_of: StatementOf) -> Statement:
    try:
        statement = statement_of(digest)
    except (NotFoundError, InvalidInputError) as error:
        raise NotFoundError(f"{where}: its certificate {digest} cannot be made again: {error}") from error
    if statement.digest != digest:
        raise CorruptionError(
            f"{where}: its certificate {digest} comes out as {statement.digest}; verify the ledger"
        )
    return statement


def _refuse_other_content(
    models: Models, recorded: Mapping[int, VersionRegistered], found: Mapping[int, VersionView]
) -> None:
    for number in recorded.keys() & found.keys():
        actual = found[number].tags.get(BUNDLE_DIGEST_TAG)
        if actual != recorded[number].bundle_digest:
            raise CorruptionError(
                f"{models.tracking.uri}: {MODEL} version {number} is bundle {actual}, the log has "
                f"{recorded[number].bundle_digest}; nothing was changed, name the registry of this ledger"
            )


def _refuse_other_numbers(models: Models, missing: Iterable[int], found: Iterable[int]) -> None:
    """MLflow counts upwards and gives no number twice: what would come out otherwise is not begun."""
    following = max(found, default=0) + 1
    for number in missing:
        if number != following:
            raise CorruptionError(
                f"{models.tracking.uri}: {MODEL} version {number} is missing, and the next one would be "
                f"{following}; no version was made and no alias moved: restore the registry from a copy, "
                "or pull the segments that registered the versions between"
            )
        following += 1


def _create(models: Models, number: int, package: Package) -> None:
    made = create_version(models, package)
    if made != number:
        models.delete_version(MODEL, made)
        raise CorruptionError(
            f"{models.tracking.uri}: {MODEL} version {number} came out as {made}, which was deleted "
            "again; no alias was moved: move the store away, so that numbers begin at 1, and rebuild"
        )


def _restore_aliases(log: Log, models: Models) -> dict[str, int]:
    present = models.aliases(MODEL)
    missing = {alias: at for alias, at in recorded_aliases(log).items() if alias not in present}
    for alias, version in missing.items():
        models.set_alias(MODEL, alias, version)
    return missing
