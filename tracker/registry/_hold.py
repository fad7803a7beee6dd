"""Holds: a person keeps a version or a certificate from being promoted, until someone releases it."""

from schemas import HoldPlaced, HoldReleased, NotFoundError, Unit, VersionRegistered, redact
from tracker.log import Log
from tracker.registry._bundle import MODEL
from tracker.registry._history import Recorded, hold_events, registrations
from tracker.registry._review import find_certificate

LEAST_DIGITS = 8


def place_hold(log: Log, target: str, *, by: str, reason: str) -> Recorded[HoldPlaced]:
    """Keep a version, or every version with a certificate, from being promoted.

    Args:
        log: where it is recorded.
        target: a version's number, or a certificate's digest (its first 8 digits or more).
        by: who says so.
        reason: why; it is shown to whoever tries to promote.

    Raises:
        NotFoundError: the ledger knows no such version or certificate.
        InvalidInputError: an ambiguous digest, no reason, no name.
    """
    fields, campaign = _target(log, target)
    hold = HoldPlaced.parse({**fields, "by": by, "reason": redact(reason)}, where="hold")
    with log.open_segment(campaign, Unit.REVIEW, {"hold": target_words(hold)}) as segment:
        event = segment.append("hold.placed", hold.plain())
    return Recorded(event.time, campaign, segment.segment, hold)


def release_hold(log: Log, hold: str, *, by: str, reason: str) -> tuple[Recorded[HoldPlaced], ...]:
    """Lift a hold by its id, or every open hold on a version or certificate; those that were lifted.

    Args:
        log: where it is recorded.
        hold: the hold's id, a version's number, or a certificate's digest (its first 8 digits or more).
        by: who says so.
        reason: why it does not bind any more.

    Raises:
        NotFoundError: no such hold is open; says which are.
        InvalidInputError: no reason, no name.
    """
    standing = open_holds(log)
    lifted = tuple(each for each in standing if _means(each, hold.strip()))
    if not lifted:
        known = "\n  ".join(f"{each.segment} on {target_words(each.fact)}" for each in standing)
        raise NotFoundError(
            f"no open hold {hold!r}; " + (f"open are:\n  {known}" if known else "none is open")
        )
    facts = [
        HoldReleased.parse({"hold": each.segment, "by": by, "reason": redact(reason)}, where="hold release")
        for each in lifted
    ]
    for each, fact in zip(lifted, facts, strict=True):
        with log.open_segment(each.campaign, Unit.REVIEW, {"hold": target_words(each.fact)}) as segment:
            segment.append("hold.released", fact.plain())
    return lifted


def open_holds(log: Log) -> tuple[Recorded[HoldPlaced], ...]:
    """The holds that no one has released, oldest first."""
    placed, released = hold_events(log)
    lifted = {each.fact.hold for each in released}
    return tuple(each for each in placed if each.segment not in lifted)


def holds_on(log: Log, registered: VersionRegistered) -> tuple[Recorded[HoldPlaced], ...]:
    """The open holds on a version, on its certificates, and on its memory model, oldest first."""
    digests = {registered.memory_digest, *(table.certificate for table in registered.tables)} - {None}
    return tuple(
        hold
        for hold in open_holds(log)
        if hold.fact.version == registered.version or hold.fact.certificate in digests
    )


def target_words(hold: HoldPlaced) -> str:
    """What is held, in words."""
    return f"version {hold.version}" if hold.certificate is None else f"certificate {hold.certificate[:12]}"


def _target(log: Log, target: str) -> tuple[dict[str, object], str]:
    text = target.strip()
    if text.isdigit() and len(text) < LEAST_DIGITS:
        known = {each.fact.version: each.campaign for each in registrations(log)}
        if int(text) not in known:
            shown = ", ".join(map(str, sorted(known))) or "none"
            raise NotFoundError(f"no version {text} was registered from {log.root}; versions: {shown}")
        return {"target": "version", "version": int(text)}, MODEL
    digest, campaign = find_certificate(log, text)
    return {"target": "certificate", "certificate": digest}, campaign


def _means(hold: Recorded[HoldPlaced], text: str) -> bool:
    if text.isdigit() and len(text) < LEAST_DIGITS:
        return hold.fact.version == int(text)
    digest = hold.fact.certificate or ""
    return hold.segment == text.upper() or (len(text) >= LEAST_DIGITS and digest.startswith(text.lower()))
