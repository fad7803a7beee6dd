"""What a version needs before an alias may point to it (design, section 5)."""

from collections.abc import Callable, Iterable, Sequence

from schemas import CorruptionError, InvalidInputError, NotFoundError, Statement, VersionRegistered
from tracker.certificate import Check, check_file
from tracker.log import Log
from tracker.mlflow_store import Models, VersionView
from tracker.registry._bundle import Package
from tracker.registry._history import reviews
from tracker.registry._hold import holds_on, target_words
from tracker.registry._read import read_package, recorded_version

CheckCertificate = Callable[[Statement], Iterable[Check]]


def promotion_lacks(
    log: Log, models: Models, version: VersionView, check: CheckCertificate = check_file
) -> tuple[str, ...]:
    """Everything that keeps a version from being promoted; nothing when all is there.

    The hand-set version has no certificate to review; an open hold keeps it back like any other.

    Args:
        log: reviews and registrations.
        models: the registry.
        version: as the registry tells it.
        check: recomputes a certificate; from its file alone by default.
    """
    recorded = recorded_version(log, version.version)
    if recorded is None:
        return (
            f"version {version.version} is not in this ledger's log: pull the segment that registered it",
        )
    try:
        package = read_package(models, version)
    except (CorruptionError, InvalidInputError, NotFoundError) as error:
        return (f"its files do not verify: {error}",)
    if package.bundle.digest != recorded.bundle_digest:
        return (f"its bundle has digest {package.bundle.digest}, registered was {recorded.bundle_digest}",)
    return (*held_by(log, recorded), *_certificates(log, package, check))


def held_by(log: Log, registered: VersionRegistered) -> tuple[str, ...]:
    """The open holds on a version, on its certificates, and on its memory model, in words."""
    return tuple(
        f"{target_words(hold.fact)} is held by {hold.fact.by} since {hold.time}: {hold.fact.reason} "
        f"(layoutledger hold release {hold.segment})"
        for hold in holds_on(log, registered)
    )


def _certificates(log: Log, package: Package, check: CheckCertificate) -> Iterable[str]:
    for statement in package.statements:
        name = f"certificate {statement.digest[:12]} of table {statement.predicate.table_id}"
        for each in check(statement):
            if not each.passed:
                yield f"{name} does not verify: {each.name}: {each.detail}"
        for verdict in statement.predicate.verdicts:
            if not verdict.passed:
                yield f"{name}: gate {verdict.gate} failed on {verdict.group}"
        yield from review_lacks(log, statement.digest, name)
    memory = package.bundle.memory
    if memory:
        # An estimate can be right and still be held back, and the other way round: both words are needed.
        name = f"memory model {memory.digest[:12]} of formula {memory.formula}"
        yield from review_lacks(log, memory.digest, name)


def review_lacks(log: Log, certificate: str, name: str) -> Sequence[str]:
    """The reviews that a certificate lacks, and those that speak against it.

    Args:
        log: where reviews are recorded.
        certificate: the whole digest: a changed certificate has another one, and no reviews.
        name: what to call it in the answer.
    """
    standing = [review.fact for review in reviews(log, certificate)]
    lacks: list[str] = []
    for aspect, wanted, against in (
        ("correctness", "clear", "changes_requested"),
        ("adoption", "approve", "hold"),
    ):
        of_aspect = [review for review in standing if review.aspect == aspect]
        if not any(review.verdict == wanted for review in of_aspect):
            lacks.append(f"{name}: no {aspect} review says {wanted}")
        lacks += [
            f"{name}: {aspect}: {review.verdict.replace('_', ' ')} by {review.by}: {review.reason}"
            for review in of_aspect
            if review.verdict == against
        ]
    return lacks
