"""A person's verdict on a certificate, recorded."""

from typing import Literal

from schemas import InvalidInputError, NotFoundError, ReviewRecorded, Unit, redact
from tracker.log import Log
from tracker.registry._history import registrations, unit_events

Aspect = Literal["correctness", "adoption"]
Verdict = Literal["clear", "changes_requested", "approve", "hold"]

VERDICTS: dict[str, tuple[str, ...]] = {
    "correctness": ("clear", "changes_requested"),
    "adoption": ("approve", "hold"),
}


def record_review(
    log: Log, certificate: str, aspect: Aspect, verdict: Verdict, *, by: str, reason: str
) -> ReviewRecorded:
    """Record a review; the same person's later word on the aspect replaces an earlier one.

    Args:
        log: where it is recorded, in the certificate's campaign.
        certificate: the digest, or a beginning of at least 8 digits that only one has.
        aspect: correctness (clear, changes_requested) or adoption (approve, hold).
        verdict: one of the aspect's.
        by: who says so.
        reason: why.

    Raises:
        InvalidInputError: a verdict of the other aspect, no reason, no name, or an ambiguous digest.
        NotFoundError: the ledger knows no such certificate.
    """
    allowed = VERDICTS.get(aspect, ())
    if verdict not in allowed:
        raise InvalidInputError(
            f"{aspect} review: verdict {verdict!r}: expected one of {', '.join(allowed) or 'none'}; "
            f"aspects: {', '.join(VERDICTS)}"
        )
    digest, campaign = find_certificate(log, certificate)
    fields = {"certificate": digest, "aspect": aspect, "verdict": verdict, "by": by, "reason": redact(reason)}
    review = ReviewRecorded.parse(fields, where="review")
    with log.open_segment(campaign, Unit.REVIEW, {"certificate": digest}) as segment:
        segment.append("review.recorded", review.plain())
    return review


def find_certificate(log: Log, certificate: str) -> tuple[str, str]:
    """Digest and campaign of what can be reviewed or held: a certificate, or a registered memory model.

    Raises:
        InvalidInputError: fewer than 8 digits, or more than one digest begins so.
        NotFoundError: none does; says which there are.
    """
    known = _certificates(log)
    beginning = certificate.strip().lower()
    found = [digest for digest in known if digest.startswith(beginning)]
    if len(beginning) < 8 or len(found) > 1:
        raise InvalidInputError(
            f"certificate {certificate!r}: give at least 8 digits of one digest; {len(found)} begin so"
        )
    if not found:
        shown = ", ".join(sorted(digest[:12] for digest in known)) or "none"
        raise NotFoundError(f"no certificate {certificate!r} in {log.root}; there are: {shown}")
    return found[0], known[found[0]]


def _certificates(log: Log) -> dict[str, str]:
    """Digest and campaign of what can be reviewed: issued certificates, and all of registered versions."""
    registered = {
        table.certificate: each.campaign for each in registrations(log) for table in each.fact.tables
    }
    memory = {
        each.fact.memory_digest: each.campaign for each in registrations(log) if each.fact.memory_digest
    }
    issued = {
        str(event.data["digest"]): event.subject["campaign"]
        for event in unit_events(log, Unit.CERTIFICATE)
        if event.type == "certificate.issued"
    }
    return {**registered, **memory, **issued}
