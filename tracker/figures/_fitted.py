"""A recorded fit as figures: from its own events alone."""

from collections.abc import Mapping, Sequence

from schemas import Ablation, CellJudged, FitAnalysed, FitCompleted
from tracker.figures._ablation import ablation_figure
from tracker.figures._charts import (
    AblationRow,
    CoefficientRow,
    PredictedCell,
    PredictedPoint,
    RegretRow,
    TermsRow,
)
from tracker.figures._coefficients import coefficients_figure
from tracker.figures._predicted import predicted_by_cell_figure, predicted_figure
from tracker.figures._regret import regret_figure
from tracker.figures._terms import terms_figure

FITTED, UNSEEN, HAND_SET = "this table", "fitted without the cell", "version 1"


def fit_figures(
    fit: FitCompleted, analysed: FitAnalysed | None, cells: Sequence[CellJudged]
) -> Mapping[str, str]:
    """Each figure's SVG by its file's name.

    Args:
        fit: the fit.
        analysed: how well its table is known; a fit recorded without it has neither intervals nor ablations.
        cells: as the fit saw them; those with a selection are drawn.
    """
    judged = [cell for cell in cells if cell.selection is not None]
    predicted = [_predicted(cell) for cell in judged]
    figures = {
        "predicted.svg": predicted_figure(predicted),
        "predicted-by-cell.svg": predicted_by_cell_figure(predicted),
        "regret.svg": regret_figure([_regret(cell) for cell in judged], _regret_note(analysed)),
        "coefficients.svg": coefficients_figure(
            {fit.arguments.method: coefficient_rows(fit, analysed)}, _interval_note(analysed)
        ),
        "terms.svg": terms_figure([_terms(cell) for cell in judged]),
    }
    if analysed and analysed.ablations:
        figures["ablation.svg"] = ablation_figure(
            [ablation_row(each) for each in analysed.ablations], ablation_note(analysed)
        )
    return figures


def coefficient_rows(fit: FitCompleted, analysed: FitAnalysed | None) -> list[CoefficientRow]:
    """The table's coefficients, and those of terms that resampled fits used."""
    intervals = analysed.intervals if analysed else {}
    terms = [term for term in fit.arguments.terms if term in fit.table or intervals.get(term)]
    return [
        CoefficientRow(
            term,
            fit.table.get(term, 0),
            intervals[term].low if term in intervals else None,
            intervals[term].high if term in intervals else None,
        )
        for term in terms
    ]


def ablation_row(ablation: Ablation) -> AblationRow:
    """An ablation as it is drawn."""
    found = ablation.metrics
    return AblationRow(
        ablation.kind,
        ablation.name,
        found.cells,
        ablation.summed_regret_pct,
        found.p95_regret_pct,
        found.max_regret_pct,
        None if found.pairwise_accuracy is None else found.pairwise_accuracy * 100,
    )


def ablation_note(analysed: FitAnalysed) -> str:
    """How the judged cells were kept unseen."""
    return (
        f"on cells that the tables had not seen: training cells in {analysed.folds} folds, each left out in "
        "turn; held-out cells"
    )


def _interval_note(analysed: FitAnalysed | None) -> str:
    if analysed is None:
        return "milli-microseconds per unit; this fit recorded no intervals"
    return f"lines: 95% of {analysed.resamples} fits on resampled training cells; dots: the table"


def _regret_note(analysed: FitAnalysed | None) -> str:
    if analysed is None:
        return "under the table and under version 1, the hand-set score"
    return (
        "under the table, under one fitted without the cell (held-out cells: the same), and under version 1"
    )


def _predicted(cell: CellJudged) -> PredictedCell:
    fastest = min(cell.candidates, key=lambda candidate: candidate.median_us)
    base = fastest.predicted_us or 0
    return PredictedCell(
        cell.cell,
        cell.held_out,
        [
            PredictedPoint(
                each.label,
                (each.median_us - fastest.median_us) / fastest.median_us * 100,
                ((each.predicted_us or 0) - base) / fastest.median_us * 100,
            )
            for each in cell.candidates
            if each.label != fastest.label
        ],
    )


def _regret(cell: CellJudged) -> RegretRow:
    found = cell.selection
    assert found is not None
    regrets = {FITTED: found.regret_pct, UNSEEN: found.unseen_regret_pct, HAND_SET: found.hand_set_regret_pct}
    return RegretRow(cell.cell, cell.held_out, found.noise_pct, regrets)


def _terms(cell: CellJudged) -> TermsRow:
    found = cell.selection
    assert found is not None
    medians = {candidate.label: candidate.median_us for candidate in cell.candidates}
    return TermsRow(cell.cell, found.terms, medians[found.selected])
