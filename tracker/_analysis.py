"""What a fit records beside its table: each cell's selection, its price by term; how well it is all known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from fit import (
    Analysis,
    CellVerdict,
    FitCandidate,
    FitCell,
    Unseen,
    analyse,
    difference_noise_pct,
    judge_cells,
)
from planner import TABLE_WORK_PER_US, Coefficients, score_features, term_contributions
from schemas import (
    Ablation,
    CellJudged,
    CertifiedCell,
    CoefficientInterval,
    FitAnalysed,
    FitCompleted,
    Manifest,
    Metrics,
    SelectionJudged,
)
from tracker._fitting import fit_cells
from tracker._story import percent
from tracker.certificate import measured_domain


@dataclass(frozen=True, slots=True)
class Registered:
    """When a campaign's rules were fixed and its first sample was seen.

    Args:
        opened: RFC 3339, UTC.
        first_sample: as precise; None where all evidence is imported.
    """

    opened: str
    first_sample: str | None


def analyse_fit(
    manifest: Manifest,
    registered: Registered,
    cells: Sequence[CertifiedCell],
    result: FitCompleted,
) -> tuple[FitAnalysed, Mapping[str, CellVerdict]]:
    """Refit on resampled and on fewer cells.

    Args:
        manifest: the campaign's.
        registered: when it was.
        cells: the retained ones, that the fit stands on.
        result: the fit.

    Returns:
        what is recorded, not yet with a certificate's digest; each cell's selection by a table that had not
        seen it, where one could be fitted.
    """
    used = [term for term, value in result.table.items() if value]
    found = analyse(fit_cells(cells), result.arguments, used, held_out=result.holdout_cells)
    analysed = FitAnalysed(
        title=manifest.title,
        opened=registered.opened,
        first_sample=registered.first_sample,
        protocol=manifest.protocol,
        holdout=manifest.holdout,
        gates=manifest.gates,
        domain=measured_domain(cells),
        certificate=None,
        resamples=found.resamples,
        folds=found.folds,
        intervals=_intervals(found),
        ablations=tuple(_ablation(unseen) for unseen in found.unseen),
    )
    everywhere = next((unseen.verdicts for unseen in found.unseen if unseen.kind == "nothing"), ())
    return analysed, {verdict.key: verdict for verdict in everywhere}


def judge_told(
    told: Sequence[CellJudged],
    cells: Sequence[CertifiedCell],
    table: Coefficients,
    unseen: Mapping[str, CellVerdict],
) -> tuple[CellJudged, ...]:
    """The told cells with what a table says of those that it was judged on.

    Args:
        told: every cell of the campaign.
        cells: the retained ones.
        table: the integer table.
        unseen: selections by tables that had not seen the cell, where there are any.
    """
    fitted = fit_cells(cells)
    verdicts = zip(judge_cells(fitted, table), judge_cells(fitted, None), strict=True)
    judged = {cell.key: (cell, *both) for cell, both in zip(fitted, verdicts, strict=True)}
    return tuple(
        _judge_cell(cell, *judged[cell.cell], table, unseen.get(cell.cell)) if cell.cell in judged else cell
        for cell in told
    )


def _judge_cell(
    told: CellJudged,
    cell: FitCell,
    verdict: CellVerdict,
    hand_set: CellVerdict,
    table: Coefficients,
    unseen: CellVerdict | None,
) -> CellJudged:
    by_label = {candidate.label: candidate for candidate in cell.candidates}
    selected, best = by_label[verdict.selected], by_label[verdict.best]
    works = term_contributions(selected.features, cell.facts, table)
    prices = {
        label: score_features(candidate.features, cell.facts, table)[0]
        for label, candidate in by_label.items()
    }
    selection = SelectionJudged(
        selected=verdict.selected,
        best=verdict.best,
        regret_pct=percent(verdict.regret_pct),
        noise_pct=_noise(selected, best),
        unseen=unseen.selected if unseen else None,
        unseen_regret_pct=percent(unseen.regret_pct) if unseen else None,
        hand_set=hand_set.selected,
        hand_set_regret_pct=percent(hand_set.regret_pct),
        terms={term: _microseconds(work) for term, work in works.items() if table.get(term)},
    )
    candidates = tuple(
        candidate.model_copy(update={"predicted_us": _microseconds(prices[candidate.label])})
        for candidate in told.candidates
        if candidate.label in prices
    )
    return told.model_copy(update={"selection": selection, "candidates": candidates})


def _noise(selected: FitCandidate, best: FitCandidate) -> float | None:
    noise = difference_noise_pct(selected, best)
    return percent(noise) if isfinite(noise) else None


def _microseconds(work: int) -> int:
    return (work + TABLE_WORK_PER_US // 2) // TABLE_WORK_PER_US


def _intervals(found: Analysis) -> dict[str, CoefficientInterval]:
    return {
        term: CoefficientInterval(value=round(each.value), low=round(each.low), high=round(each.high))
        for term, each in found.intervals.items()
    }


def _ablation(unseen: Unseen) -> Ablation:
    return Ablation.parse(
        {
            "kind": unseen.kind,
            "name": unseen.name,
            "metrics": _rounded(unseen.metrics).plain(),
            "summed_regret_pct": percent(unseen.summed_regret_pct),
        },
        where=f"ablation of {unseen.kind} {unseen.name}",
    )


def _rounded(metrics: Metrics) -> Metrics:
    numbers = {
        name: value if value is None else percent(value)
        for name, value in metrics.plain().items()
        if name.endswith("_pct")
    }
    accuracy = metrics.pairwise_accuracy
    share = accuracy if accuracy is None else round(accuracy, 6)
    return metrics.model_copy(update={**numbers, "pairwise_accuracy": share})
