"""Each way in which the registry is not what was registered and promoted."""

from collections.abc import Iterator

from schemas import CorruptionError, InvalidInputError, NotFoundError, VersionRegistered
from tracker.certificate import check_file
from tracker.log import Finding, Log
from tracker.mlflow_store import SEAL_TAG, Models, VersionView, open_existing, tracking_uri
from tracker.registry._bundle import MODEL
from tracker.registry._history import alias_moves, registrations
from tracker.registry._promote import recorded_aliases
from tracker.registry._read import read_package, recorded_version
from tracker.registry._rules import CheckCertificate, held_by, promotion_lacks


def verify_registry(
    log: Log, uri: str | None = None, *, check: CheckCertificate = check_file
) -> list[Finding]:
    """Compare versions, their files, tags and descriptions, and the aliases, with the log.

    Args:
        log: the log.
        uri: the registry; `MLFLOW_TRACKING_URI` or the embedded one where omitted.
        check: recomputes a certificate, for aliases that were moved outside.

    Returns:
        Findings; empty when all is well.

    Raises:
        StoreUnavailableError: the registry does not answer.
    """
    recorded = {each.fact.version: each.fact for each in registrations(log)}
    tracking = open_existing(uri or tracking_uri(log.root))
    if tracking is None:
        return [Finding("deleted version", _where(number), "registered", "no store") for number in recorded]
    models = Models(tracking)
    found = {each.version: each for each in models.versions(MODEL)}
    findings = [
        Finding("deleted version", _where(number), fact.bundle_digest, "nothing")
        for number, fact in recorded.items()
        if number not in found
    ]
    for number, version in found.items():
        if number in recorded:
            findings.extend(_check_version(models, version, recorded[number]))
        else:
            findings.append(
                Finding("unknown version", _where(number), "a registration in the log", "none: pull")
            )
    findings.extend(_check_aliases(log, models, found, check))
    return findings


def _check_version(models: Models, version: VersionView, fact: VersionRegistered) -> Iterator[Finding]:
    where = _where(version.version)
    try:
        package = read_package(models, version)
    except (NotFoundError, CorruptionError, InvalidInputError) as error:
        yield Finding("edited version file", where, fact.bundle_digest, str(error))
        return
    if package.bundle.digest != fact.bundle_digest:
        yield Finding("exchanged bundle", where, fact.bundle_digest, package.bundle.digest)
        return
    if package.tables() != fact.tables:
        yield Finding("exchanged certificate", where, str(fact.tables), str(package.tables()))
    expected = {**package.tags(), SEAL_TAG: package.seal()}
    for key in sorted({*expected, *version.tags}):
        if expected.get(key) != version.tags.get(key):
            wanted, there = expected.get(key, "nothing"), version.tags.get(key, "nothing")
            yield Finding("edited version tag", f"{where}: {key}", wanted, there)
    if version.description != package.description():
        yield Finding("edited version description", where, package.description(), version.description)


def _check_aliases(
    log: Log, models: Models, found: dict[int, VersionView], check: CheckCertificate
) -> Iterator[Finding]:
    recorded, present = recorded_aliases(log), models.aliases(MODEL)
    for alias in sorted({*recorded, *present}):
        before, now = recorded.get(alias), present.get(alias)
        if before != now:
            yield Finding("moved alias", f"alias {alias}", _target(before), _target(now))
        forced = [move.fact for move in alias_moves(log, alias)][-1:]
        if now is None or now not in found or (before == now and forced and forced[0].forced):
            continue
        where = f"alias {alias} at version {now}"
        registered = recorded_version(log, now)
        held = held_by(log, registered) if registered else ()
        for lack in promotion_lacks(log, models, found[now], check):
            what = "alias at a held version" if lack in held else "alias without its reviews"
            yield Finding(what, where, "nothing missing", lack)


def _target(version: int | None) -> str:
    return "nothing" if version is None else f"version {version}"


def _where(version: int) -> str:
    return f"{MODEL} version {version}"
