"""Recompute what a certificate says: from the file alone, and from the log it stands on."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fit import FitCell, fit_table, gate_verdicts, judge, judge_groups, judge_hand_set
from schemas import Certificate, FitCompleted, LayoutLedgerError, Statement, table_digest
from tracker._fitting import fit_cells
from tracker._registration import misused_cells, registered_before
from tracker.certificate._build import build_statement, measured_domain
from tracker.certificate._sources import CertificateSource


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was recomputed.

    Args:
        name: what.
        passed: whether the certificate says the same.
        detail: what was found, or why it differs.
        skipped: there was nothing to compare; the detail says why.
    """

    name: str
    passed: bool
    detail: str
    skipped: bool = False


def check_file(statement: Statement) -> tuple[Check, ...]:
    """What the file alone can show: its aggregates give its metrics, verdicts and domain."""
    certificate = statement.predicate
    every = fit_cells(certificate.cells)
    rules = (
        ("table digest", _table_digest),
        ("completeness", _completeness),
        ("holdout rule", _holdout),
        ("domain", _domain),
    )
    checks = [Check(name, *rule(certificate)) for name, rule in rules]
    return (*checks, *_judgements(certificate, every))


def check_refit(statement: Statement) -> Check:
    """Repeat the fit on the training cells and demand the identical integers."""
    certificate = statement.predicate
    training = _part(certificate, fit_cells(certificate.cells), held_out=False)
    table = dict(fit_table(training, certificate.fit_arguments).coefficients)
    differing = sorted(
        name
        for name in table.keys() | certificate.table.keys()
        if table.get(name) != certificate.table.get(name)
    )
    detail = f"{len(table)} integers identical"
    if differing:
        detail = "; ".join(
            f"{n}: {certificate.table.get(n)} here, {table.get(n)} refitted" for n in differing
        )
    return Check("refit", not differing, detail)


def check_log(statement: Statement, source: CertificateSource) -> Iterator[Check]:
    """What the log shows: manifest before samples, the evidence root, and the same certificate again."""
    certificate = statement.predicate
    try:
        fit = source.fit(certificate.campaign, certificate.fit)
        yield Check("fit in the log", True, certificate.fit)
        yield _order(certificate, source)
        yield _apart(certificate, fit, source)
        yield _root(certificate, source)
        yield _again(statement, fit, source)
    except LayoutLedgerError as error:
        yield Check("log", False, str(error))


def _table_digest(certificate: Certificate) -> tuple[bool, str]:
    found = table_digest(certificate.table)
    return found == certificate.table_digest, found


def _completeness(certificate: Certificate) -> tuple[bool, str]:
    present = {cell.cell for cell in certificate.cells}
    excluded = {exclusion.cell for exclusion in certificate.exclusions}
    expected = set(certificate.expected_cells)
    thin = [
        f"{cell.cell} {candidate.label}: {candidate.n}"
        for cell in certificate.cells
        for candidate in cell.candidates
        if candidate.n < certificate.required_samples
    ]
    missing, foreign = sorted(expected - present - excluded), sorted((present | excluded) - expected)
    both = sorted(present & excluded)
    problems = [*missing, *foreign, *both, *thin]
    required = certificate.required_samples
    detail = f"{len(present)} cells, {len(excluded)} excluded, each candidate at least {required}"
    return not problems, "; ".join(problems) or detail


def _holdout(certificate: Certificate) -> tuple[bool, str]:
    wrong = [
        cell.cell for cell in certificate.cells if cell.held_out != certificate.holdout.holds_out(cell.cell)
    ]
    held = sum(cell.held_out for cell in certificate.cells)
    return not wrong, "; ".join(wrong) or f"{held} held out, {len(certificate.cells) - held} to train on"


def _domain(certificate: Certificate) -> tuple[bool, str]:
    same = certificate.domain == measured_domain(certificate.cells)
    return same, "exactly what the cells were measured on" if same else "not what the cells were measured on"


def _part(certificate: Certificate, cells: Sequence[FitCell], *, held_out: bool) -> tuple[FitCell, ...]:
    return tuple(cell for cell in cells if certificate.holdout.holds_out(cell.key) == held_out)


def _judgements(certificate: Certificate, every: Sequence[FitCell]) -> tuple[Check, ...]:
    table = certificate.table
    training = _part(certificate, every, held_out=False)
    holdout = _part(certificate, every, held_out=True)
    claims: tuple[tuple[str, object, Callable[[], object]], ...] = (
        (
            "metrics",
            certificate.metrics,
            lambda: {
                "all": judge(every, table),
                "train": judge(training, table),
                "holdout": judge(holdout, table),
            },
        ),
        ("metrics by model", certificate.by_model, lambda: judge_groups(every, table, "model")),
        ("metrics by shape", certificate.by_shape, lambda: judge_groups(every, table, "shape")),
        ("metrics by family", certificate.by_family, lambda: judge_groups(every, table, "family")),
        ("version 1 beside it", certificate.hand_set, lambda: judge_hand_set(every)),
        (
            "gates",
            certificate.verdicts,
            lambda: gate_verdicts(holdout, table, certificate.gates, retained=training),
        ),
    )
    checks = [_claim(name, claimed, compute) for name, claimed, compute in claims]
    failed = [f"{verdict.gate} {verdict.group}" for verdict in certificate.verdicts if not verdict.passed]
    return (
        *checks,
        Check("gates passed", not failed, "; ".join(failed) or f"{len(certificate.verdicts)} verdicts"),
    )


def _claim(name: str, claimed: object, compute: Callable[[], object]) -> Check:
    try:
        same = compute() == claimed
    except LayoutLedgerError as error:
        return Check(name, False, str(error))
    return Check(name, same, "recomputed, equal" if same else "recomputed, and they differ")


def _order(certificate: Certificate, source: CertificateSource) -> Check:
    opened, first = source.opened(certificate.campaign), source.first_sample(certificate.campaign)
    same = source.manifest(certificate.campaign).digest == certificate.manifest_digest
    before = registered_before(opened, first)
    detail = f"opened {opened}, first sample {first or 'imported'}"
    return Check("manifest registered before the first sample", same and before, detail)


def _apart(certificate: Certificate, fit: FitCompleted, source: CertificateSource) -> Check:
    wrong = misused_cells(source.manifest(certificate.campaign), fit)
    detail = f"{len(fit.training_cells)} fitted on, {len(fit.holdout_cells)} judged on"
    return Check("no held-out cell was fitted on", not wrong, "; ".join(wrong) or detail)


def _root(certificate: Certificate, source: CertificateSource) -> Check:
    found = source.evidence(certificate.evidence.segments)
    same = found == certificate.evidence
    return Check(
        "evidence root", same, found.root if same else f"{found.root}, not {certificate.evidence.root}"
    )


def _again(statement: Statement, fit: FitCompleted, source: CertificateSource) -> Check:
    certificate = statement.predicate
    segments = certificate.evidence.segments
    again = build_statement(
        certificate.fit,
        fit,
        source.manifest(certificate.campaign),
        source.certified_cells(certificate.campaign, segments),
        source.exclusions(certificate.campaign, segments),
    )
    same = again.digest == statement.digest
    return Check(
        "made again from the log", same, again.digest if same else f"{again.digest}: not this certificate"
    )
