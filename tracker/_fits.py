"""Fit a campaign's evidence and record the verdict: passed or not, it is a fact."""

from collections.abc import Sequence
from dataclasses import dataclass

from fit import METHODS, MethodReport, ablate_terms, compare
from schemas import FitCompleted
from tracker._analysis import Registered, analyse_fit, judge_told
from tracker._fitting import fit_cells, judge_evidence, refuse_incomplete
from tracker._ledger import Ledger
from tracker._registration import refuse_late_registration
from tracker._story import tell_cells
from tracker.certificate import build_statement


@dataclass(frozen=True, slots=True)
class RecordedFit:
    """A fit in the log.

    Args:
        id: the fit's segment id.
        result: what was recorded.
    """

    id: str
    result: FitCompleted


def fit_campaign(ledger: Ledger, campaign: str, *, method: str | None = None) -> RecordedFit:
    """Fit on the registered training cells, judge on all, record; with it how well the table is known.

    The recorded segment alone gives the fit's run, figures and report (design, sections 5 and 8).

    Args:
        ledger: where the evidence is and the verdict goes.
        campaign: its name.
        method: the fit's method; the registered one where omitted.

    Raises:
        NotFoundError: no such campaign.
        IncompleteEvidenceError: cells missing, unexpected, of two fingerprints or with too few samples;
            or the manifest was registered after the first sample.
        CorruptionError: a line of the evidence does not verify.
    """
    manifest = ledger.manifest(campaign)
    refuse_late_registration(campaign, ledger.opened(campaign), ledger.first_sample(campaign))
    segments = ledger.evidence_segments(campaign)
    ledger.require_intact(segments)
    cells = ledger.certified_cells(campaign, segments)
    exclusions = ledger.exclusions(campaign, segments)
    refuse_incomplete(manifest, cells, exclusions, ledger.warehouse.fingerprints(campaign))
    arguments = manifest.fit.model_copy(update={"method": method}) if method else manifest.fit
    result = judge_evidence(manifest, cells, exclusions, arguments, ledger.evidence(segments))
    registered = Registered(ledger.opened(campaign), ledger.first_sample(campaign))
    told = tell_cells(ledger, campaign, segments)
    analysed, unseen = analyse_fit(manifest, registered, cells, result)
    judged = judge_told(told, cells, result.table, unseen)
    with ledger.log.open_segment(campaign, "fit") as segment:
        if result.passed:
            digest = build_statement(segment.segment, result, manifest, cells, exclusions).digest
            analysed = analysed.model_copy(update={"certificate": digest})
        for cell in judged:
            segment.append("fit.cell_judged", cell.plain(), durable=False)
        segment.append("fit.analysed", analysed.plain(), durable=False)
        # Last: a segment that was interrupted before this line holds no fit.
        segment.append("fit.completed", result.plain())
    return RecordedFit(segment.segment, result)


def compare_campaign(ledger: Ledger, campaign: str, methods: Sequence[str] = ()) -> tuple[MethodReport, ...]:
    """Every method, or those named, fitted and judged on the campaign's retained cells; records nothing.

    Raises:
        NotFoundError: no such campaign.
        InvalidInputError: an unknown method.
        IncompleteEvidenceError: too few cells to compare on.
    """
    manifest = ledger.manifest(campaign)
    return compare(
        fit_cells(ledger.certified_cells(campaign)),
        manifest.fit.terms,
        held_out=manifest.holdout_keys(),
        methods=tuple(methods) or tuple(METHODS),
    )


def compare_figures(ledger: Ledger, campaign: str, reports: Sequence[MethodReport]) -> dict[str, str]:
    """A comparison's figures, SVG by file name; the registered method's where it was compared comes first.

    Raises:
        NotFoundError: no such campaign.
    """
    from tracker.figures import comparison_figures

    manifest = ledger.manifest(campaign)
    arguments = manifest.fit
    cells = fit_cells(ledger.certified_cells(campaign))
    ordered = sorted(reports, key=lambda report: report.method != arguments.method)
    ablation = ablate_terms(cells, arguments.terms, ordered[0].method)
    return comparison_figures(cells, ordered, ablation, manifest.holdout_keys())
