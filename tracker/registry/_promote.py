"""Aliases: moved by rule, moved back, noticed when someone else moved them; each move is recorded."""

from dataclasses import dataclass

from schemas import (
    AliasMoved,
    InvalidInputError,
    NotFoundError,
    PromotionRefusedError,
    StoreUnavailableError,
    Unit,
    redact_plain,
)
from tracker.certificate import check_file
from tracker.log import Log, crash_point
from tracker.mlflow_store import Models, connect, tracking_uri
from tracker.registry._bundle import MODEL
from tracker.registry._history import alias_moves
from tracker.registry._read import find_version, recorded_version
from tracker.registry._rules import CheckCertificate, held_by, promotion_lacks

OBSERVED_BY = "unknown: moved in the registry"
OBSERVED_REASON = "found in the registry, not recorded by a ledger"


@dataclass(frozen=True, slots=True)
class Promotion:
    """A move of an alias; `lacked` lists the requirements that were overridden by force."""

    move: AliasMoved
    lacked: tuple[str, ...] = ()


def promote(
    log: Log,
    alias: str,
    version: int,
    *,
    by: str,
    reason: str,
    force: bool = False,
    check: CheckCertificate = check_file,
    uri: str | None = None,
) -> Promotion:
    """Point an alias at a version.

    Args:
        log: where reviews stand and the move is recorded.
        alias: for example `champion` or `candidate`.
        version: the coefficient version.
        by: who does it.
        reason: why.
        force: do it though requirements are missing; recorded as forced.
        check: recomputes a certificate.
        uri: the registry; `MLFLOW_TRACKING_URI` or the embedded one where omitted.

    Raises:
        PromotionRefusedError: listing all that is missing; nothing was changed.
        NotFoundError: no such version.
        InvalidInputError: no reason, no name, or an alias that MLflow does not take.
        StoreUnavailableError: the registry does not answer.
    """
    models = Models(connect(uri or tracking_uri(log.root)))
    found = find_version(models, version)
    lacks = promotion_lacks(log, models, found, check)
    if lacks and not force:
        raise PromotionRefusedError(
            f"{MODEL} version {version} cannot become {alias!r}:\n  "
            + "\n  ".join(lacks)
            + "\nadd the reviews (layoutledger review add), release the holds (layoutledger hold release), "
            "or force it with a reason, which is recorded"
        )
    fact = _fact(models, alias, version=version, by=by, reason=reason, forced=bool(lacks))
    return Promotion(_move(log, models, fact), lacks)


def rollback(log: Log, alias: str, *, by: str, reason: str, uri: str | None = None) -> Promotion:
    """Point an alias back at the version that it had before the last promotion.

    Raises:
        NotFoundError: there is no earlier version, or it is gone.
        PromotionRefusedError: the earlier version is held.
        InvalidInputError: no reason or no name.
        StoreUnavailableError: the registry does not answer.
    """
    models = Models(connect(uri or tracking_uri(log.root)))
    trail = _trail(log, alias)
    if len(trail) < 2:
        raise NotFoundError(
            f"alias {alias!r} has no earlier version to go back to; see `layoutledger versions`"
        )
    find_version(models, trail[-2])
    recorded = recorded_version(log, trail[-2])
    held = held_by(log, recorded) if recorded else ()
    if held:
        raise PromotionRefusedError(
            f"alias {alias!r} cannot go back to version {trail[-2]}:\n  "
            + "\n  ".join(held)
            + "\nrelease the hold, or promote another version"
        )
    fact = _fact(models, alias, version=trail[-2], by=by, reason=reason, origin="rollback")
    return Promotion(_move(log, models, fact))


def _trail(log: Log, alias: str) -> list[int]:
    """The versions that an alias can go back through, the present one last."""
    trail: list[int] = []
    for move in alias_moves(log, alias):
        version = move.fact.version
        if move.fact.origin == "rollback" and trail[-2:-1] == [version]:
            trail.pop()
        elif version is not None and trail[-1:] != [version]:
            trail.append(version)
    return trail


def observe_aliases(log: Log, uri: str | None = None) -> tuple[AliasMoved, ...]:
    """Record every alias that points elsewhere than the log says: someone moved it in the registry.

    Raises:
        StoreUnavailableError: the registry does not answer.
    """
    models = Models(connect(uri or tracking_uri(log.root)))
    present, recorded = models.aliases(MODEL), recorded_aliases(log)
    moves: list[AliasMoved] = []
    for alias in sorted({*present, *recorded}):
        before, now = recorded.get(alias), present.get(alias)
        if before != now:
            fact = AliasMoved(
                model=MODEL,
                alias=alias,
                version=now,
                previous=before,
                by=OBSERVED_BY,
                reason=OBSERVED_REASON,
                origin="observed",
            )
            moves.append(_record(log, fact))
    return tuple(moves)


def recorded_aliases(log: Log) -> dict[str, int]:
    """Where each alias points by the log."""
    last = {move.fact.alias: move.fact.version for move in alias_moves(log)}
    return {alias: version for alias, version in last.items() if version is not None}


def _fact(models: Models, alias: str, **fields: object) -> AliasMoved:
    """The move, before anything is changed.

    Raises:
        InvalidInputError: no reason, or no name.
    """
    fact = AliasMoved.parse(
        redact_plain(
            {"model": MODEL, "alias": alias, "previous": models.aliases(MODEL).get(alias), **fields}
        ),
        where="promotion",
    )
    if not fact.by.strip():
        raise InvalidInputError("moving an alias needs the name of who does it (--by)")
    return fact


def _move(log: Log, models: Models, fact: AliasMoved) -> AliasMoved:
    """Move the alias and record it; where it cannot be recorded it is moved back."""
    assert fact.version is not None
    models.set_alias(MODEL, fact.alias, fact.version)
    crash_point("promote.moved")
    try:
        return _record(log, fact)
    except StoreUnavailableError:
        if fact.previous is None:
            models.drop_alias(MODEL, fact.alias)
        else:
            models.set_alias(MODEL, fact.alias, fact.previous)
        raise


def _record(log: Log, fact: AliasMoved) -> AliasMoved:
    with log.open_segment(MODEL, Unit.PROMOTION, {"alias": fact.alias}) as segment:
        segment.append("alias.moved", fact.plain())
    return fact
