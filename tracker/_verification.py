"""Recheck a whole ledger: log, certificates, Parquet files, mirror, registry; nothing is changed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from schemas import (
    PAYLOADS,
    CertificateIssued,
    CorruptionError,
    EvidenceRoot,
    FitCompleted,
    InvalidInputError,
    LayoutLedgerError,
    Unit,
)
from tracker._campaigns import verify_registrations
from tracker._certificates import CERTIFICATES, full_check
from tracker._ledger import Ledger
from tracker.certificate import SIGNED, certificate_name, read_statement, render_statement
from tracker.certificate.signing import signed_statement
from tracker.log import (
    Finding,
    Log,
    SegmentPath,
    iter_segment,
    merkle_root,
    read_seal,
    verify_links,
    verify_log,
)
from tracker.mirror import verify_mirror
from tracker.registry import verify_registry


def verify_ledger(ledger: Ledger) -> list[Finding]:
    """Every drift from what was written, the log's first.

    A log with lines that do not verify ends the check: what is projected from it cannot be judged. A missing
    segment does not end it.
    """
    damaged, findings = verify_log(ledger.log), verify_links(ledger.log)
    if damaged:
        return [*damaged, *findings]
    try:
        findings += [*verify_registrations(ledger.log), *verify_certificates(ledger.store, ledger.log)]
        findings += _verify_warehouse(ledger)
        findings += verify_mirror(ledger.log)
        findings += verify_registry(ledger.log, check=full_check(ledger))
    except LayoutLedgerError as error:
        lost = Finding("unreadable projection", str(ledger.store), "one that can be read", str(error))
        findings.append(lost)
    # Where all is well the projections have read every payload already.
    return [*verify_payloads(ledger.log), *findings] if findings else []


def verify_payloads(log: Log) -> Iterator[Finding]:
    """Each line, of a chain that verifies, whose data is not what its type says: not written by this tool.

    Nothing that reads the segment can go on; moved out of the log, it hinders nothing. The log has to verify.
    """
    for place in log.segments():
        for event in iter_segment(place.path):
            kind = PAYLOADS.get(event.type)
            if kind is None:
                continue
            where = f"{place.path}:{event.seq + 1}"
            try:
                kind.parse(event.data, where=event.type)
            except InvalidInputError as error:
                yield Finding("unreadable payload", where, f"what {event.type} says", str(error))


def _verify_warehouse(ledger: Ledger) -> list[Finding]:
    """By digests, which cost little; where those are right, by contents: digests can be written too."""
    return ledger.warehouse.verify() or ledger.warehouse.compare_with_log()


@dataclass(frozen=True, slots=True)
class _Told:
    """A fit or an issued certificate, and the line that tells of it."""

    place: SegmentPath
    where: str
    fact: FitCompleted | CertificateIssued


def verify_certificates(store: Path, log: Log) -> list[Finding]:
    """Compare what fits and certificates stand on with the log, and the certificates' files with both.

    A fit names its segments and the Merkle root over theirs, a certificate its fit and that root: so a
    deleted or replaced segment is found, whoever else forgot it. The log has to verify (`verify_log`).
    """
    places = {place.segment: place for place in log.segments()}
    told = [each for place in places.values() for each in _told(place)]
    fits = {each.place: each.fact for each in told if isinstance(each.fact, FitCompleted)}
    issued: dict[str, str] = {}
    findings: list[Finding] = []
    for each in told:
        if isinstance(each.fact, FitCompleted):
            findings.extend(_check_evidence(each.where, each.fact.evidence, each.place.campaign, places))
        else:
            issued[each.fact.digest] = each.place.campaign
            findings.extend(_check_issued(each, each.fact, fits, places))
    for path in sorted((store / CERTIFICATES).glob("*.json")):
        findings.extend(_check_file(path, issued))
    return findings


def _told(place: SegmentPath) -> Iterator[_Told]:
    for event in iter_segment(place.path):
        where = f"{place.path}:{event.seq + 1}"
        if event.seq == 0 and event.data["unit"] not in (Unit.FIT, Unit.CERTIFICATE):
            return
        if event.type == "fit.completed":
            yield _Told(place, where, FitCompleted.parse(event.data, where=where))
        elif event.type == "certificate.issued":
            yield _Told(place, where, CertificateIssued.parse(event.data, where=where))


def _check_evidence(
    where: str, evidence: EvidenceRoot, campaign: str, places: Mapping[str, SegmentPath]
) -> Iterator[Finding]:
    gone = [segment for segment in evidence.segments if segment not in places]
    for segment in gone:
        yield Finding("deleted segment", where, segment, "no sealed segment of that id")
    if gone:
        return
    try:
        root = merkle_root([bytes.fromhex(read_seal(places[each]).root) for each in evidence.segments])
    except (CorruptionError, ValueError) as error:
        root = str(error)
    if root != evidence.root:
        yield Finding("replaced segment", where, evidence.root, root)
    for segment in evidence.segments:
        if places[segment].campaign != campaign:
            found = f"a segment of {places[segment].campaign}"
            yield Finding("evidence of another campaign", where, f"segments of {campaign}", found)


def _check_issued(
    each: _Told,
    certificate: CertificateIssued,
    fits: Mapping[SegmentPath, FitCompleted],
    places: Mapping[str, SegmentPath],
) -> Iterator[Finding]:
    where = f"{each.where}: certificate {certificate.digest[:12]}"
    place = places.get(certificate.fit)
    fit = None if place is None else fits.get(place)
    if place is None or fit is None:
        yield Finding("deleted segment", where, certificate.fit, "no fit of that id")
    elif place.campaign != each.place.campaign:
        found = f"a fit of {place.campaign}"
        yield Finding("certificate from another campaign", where, f"a fit of {each.place.campaign}", found)
    elif fit.evidence.root != certificate.evidence_root:
        yield Finding("replaced segment", where, certificate.evidence_root, fit.evidence.root)


def _check_file(path: Path, issued: Mapping[str, str]) -> Iterator[Finding]:
    signed = path.name.endswith(SIGNED)
    try:
        statement = signed_statement(path) if signed else read_statement(path)
    except InvalidInputError as error:
        yield Finding("edited certificate", str(path), "a certificate", str(error))
        return
    campaign = statement.predicate.campaign
    if path.name != certificate_name(campaign, statement.digest, signed=signed):
        found = f"{campaign}, {statement.digest[:12]}"
        yield Finding("certificate from another campaign", str(path), path.stem, found)
    elif issued.get(statement.digest) != campaign:
        yield Finding("edited certificate", str(path), "a certificate that was issued here", statement.digest)
    elif not signed and render_statement(statement) != path.read_bytes():
        yield Finding("edited certificate", str(path), "the bytes that were written", "others, same content")
