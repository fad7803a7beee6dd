"""Issue, find, check and export certificates of this ledger."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from schemas import (
    CertificateIssued,
    CertificateRefused,
    FitCompleted,
    GateFailedError,
    InvalidInputError,
    LayoutLedgerError,
    NotFoundError,
    Statement,
)
from tracker._ledger import Ledger
from tracker._registration import refuse_late_registration, refuse_misused
from tracker.certificate import (
    Check,
    build_statement,
    check_file,
    check_log,
    check_refit,
    read_statement,
    write_certificate,
)

CERTIFICATES = "certificates"
"""The folder of certificate files in a ledger."""

_NAMED = re.compile(r"-([0-9a-f]{12})\.(?:dsse\.)?json$")


@dataclass(frozen=True, slots=True)
class IssuedCertificate:
    """A certificate that stands in the log.

    Args:
        digest: sha256 of its canonical statement.
        path: its file, which can be deleted and exported again.
        statement: itself.
    """

    digest: str
    path: Path
    statement: Statement


def certify_fit(ledger: Ledger, campaign: str, fit: str | None = None) -> IssuedCertificate:
    """Issue the certificate of a fit; the same fit again gives the same one and records nothing new.

    Args:
        ledger: where the evidence is.
        campaign: whose fit.
        fit: segment id; the campaign's latest where omitted.

    Raises:
        NotFoundError: no such campaign or fit.
        GateFailedError: a gate failed; the refusal is recorded.
        IncompleteEvidenceError: the fit trained on a held-out cell, or the manifest came after a sample.
        CorruptionError: a line that the certificate would stand on does not verify.
    """
    fit_id = fit or ledger.latest_fit(campaign)
    result = ledger.fit(campaign, fit_id)
    refuse_late_registration(campaign, ledger.opened(campaign), ledger.first_sample(campaign))
    refuse_misused(ledger.manifest(campaign), result)
    failed = tuple(
        f"{v.gate} on {v.group}: {v.value} (limit {v.limit})" for v in result.gates if not v.passed
    )
    if failed:
        refused = CertificateRefused(fit=fit_id, reasons=failed)
        with ledger.log.open_segment(campaign, "certificate", {"fit": fit_id}) as segment:
            segment.append("certificate.refused", refused.plain())
        raise GateFailedError(f"campaign {campaign}: no certificate, gates failed:\n  " + "\n  ".join(failed))
    statement = _statement(ledger, campaign, fit_id, result)
    if statement.digest not in {digest for _, digest, _ in ledger.issued_certificates(campaign)}:
        _record(ledger, campaign, fit_id, statement)
    return IssuedCertificate(statement.digest, _write(ledger, statement), statement)


def _statement(ledger: Ledger, campaign: str, fit: str, result: FitCompleted) -> Statement:
    segments = result.evidence.segments
    ledger.require_intact((*segments, fit))
    return build_statement(
        fit,
        result,
        ledger.manifest(campaign),
        ledger.certified_cells(campaign, segments),
        ledger.exclusions(campaign, segments),
    )


def _record(ledger: Ledger, campaign: str, fit: str, statement: Statement) -> None:
    body = statement.predicate
    issued = CertificateIssued(
        digest=statement.digest,
        fit=fit,
        table_digest=body.table_digest,
        evidence_root=body.evidence.root,
        table_id=body.table_id,
    )
    with ledger.log.open_segment(campaign, "certificate", {"fit": fit}) as segment:
        segment.append("certificate.issued", issued.plain())


def _write(ledger: Ledger, statement: Statement) -> Path:
    return write_certificate(ledger.store / CERTIFICATES, statement)


def export_certificate(ledger: Ledger, digest: str) -> Statement:
    """The issued certificate whose digest begins so, made again from the log.

    Raises:
        NotFoundError: none begins so.
        InvalidInputError: more than one does.
    """
    found = [entry for entry in ledger.issued_certificates(None) if entry[1].startswith(digest.lower())]
    if not found or not digest:
        raise NotFoundError(
            f"no certificate {digest!r} in {ledger.store}; see `layoutledger sql 'from certificates'`"
        )
    if len({entry[1] for entry in found}) > 1:
        raise InvalidInputError(
            f"{digest!r} begins several digests: "
            + ", ".join(entry[1] for entry in found)
            + "; give more digits"
        )
    campaign, _, fit = found[0]
    return _statement(ledger, campaign, fit, ledger.fit(campaign, fit))


def latest_certificate(ledger: Ledger, campaign: str) -> IssuedCertificate:
    """The campaign's certificate issued last, its file written if it is missing.

    Raises:
        NotFoundError: it has none.
    """
    entries = ledger.issued_certificates(campaign)
    if not entries:
        raise NotFoundError(
            f"campaign {campaign} has no certificate; run `layoutledger certify {campaign}` first"
        )
    _, digest, fit = entries[-1]
    statement = _statement(ledger, campaign, fit, ledger.fit(campaign, fit))
    return IssuedCertificate(digest, _write(ledger, statement), statement)


def check_certificate(path: Path, ledger: Ledger, *, refit: bool) -> tuple[str, tuple[Check, ...]]:
    """Recompute a certificate file, from the log too where the ledger holds its campaign.

    Raises:
        InvalidInputError: the file is no certificate.
    """
    statement = read_statement(path)
    checks = [*_check_name(path, statement), *full_check(ledger)(statement)]
    campaign = statement.predicate.campaign
    known = campaign in ledger.campaigns()
    if refit:
        checks.append(check_refit(statement))
        checks.append(check_reanalysis(statement, ledger) if known else _NO_ANALYSIS)
    if not known:
        checks.append(
            Check("log", True, f"campaign {campaign} is not in {ledger.store}: checked from the file alone")
        )
    return statement.digest, tuple(checks)


def check_alone(path: Path, *, refit: bool) -> tuple[str, tuple[Check, ...]]:
    """Recompute a certificate file from its own aggregates.

    Raises:
        InvalidInputError: the file is no certificate.
    """
    statement = read_statement(path)
    checks = (*_check_name(path, statement), *file_checks(statement, refit=refit))
    return statement.digest, (*checks, _NO_ANALYSIS) if refit else checks


def _check_name(path: Path, statement: Statement) -> tuple[Check, ...]:
    """A file under the name that `certify` gave it says in it which digest it must have."""
    named = _NAMED.search(path.name)
    if named is None:
        return ()
    digest = statement.digest
    detail = digest if digest.startswith(named[1]) else f"its name says {named[1]}, its content is {digest}"
    return (Check("digest in the file's name", digest.startswith(named[1]), detail),)


def file_checks(statement: Statement, *, refit: bool) -> tuple[Check, ...]:
    """What the file alone shows, and the fit again where that is asked for."""
    return (*check_file(statement), *((check_refit(statement),) if refit else ()))


def check_reanalysis(statement: Statement, ledger: Ledger) -> Check:
    """Repeat what the certificate's fit recorded beside the table: intervals, ablations, each selection."""
    from tracker._reanalysis import NAME, check_analysis

    body = statement.predicate
    try:
        return check_analysis(ledger, body.campaign, body.fit)
    except LayoutLedgerError as error:
        return Check(NAME, False, str(error))


_NO_ANALYSIS = Check(
    "recorded analysis", True, "it is in the log, which is not here or was not asked", skipped=True
)


def full_check(ledger: Ledger) -> Callable[[Statement], Sequence[Check]]:
    """Check a statement from the file, and from the log where this ledger holds its campaign."""

    def check(statement: Statement) -> Sequence[Check]:
        known = statement.predicate.campaign in ledger.campaigns()
        in_log = (_check_lines(statement, ledger), *check_log(statement, ledger)) if known else ()
        return (*check_file(statement), *in_log)

    return check


def _check_lines(statement: Statement, ledger: Ledger) -> Check:
    segments = (*statement.predicate.evidence.segments, statement.predicate.fit)
    try:
        ledger.require_intact(segments)
    except LayoutLedgerError as error:
        return Check("lines of the log", False, str(error))
    return Check("lines of the log", True, f"{len(segments)} segments, verified line by line")
