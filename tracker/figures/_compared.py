"""A comparison of fitting methods as figures."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from fit import FitCell, LeftOut, MethodReport, judge_cells
from planner import TABLE_WORK_PER_US, Coefficients, score_features, term_contributions
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


def comparison_figures(
    cells: Sequence[FitCell],
    reports: Sequence[MethodReport],
    ablation: Mapping[str, LeftOut],
    held_out: Collection[str] = (),
) -> dict[str, str]:
    """Each figure's SVG by its file's name.

    Args:
        cells: the retained cells; the first report's table predicts them.
        reports: of the methods, at least one.
        ablation: the first report's method judged without each term, one cell left out at a time.
        held_out: keys of the cells that the tables were not fitted on.
    """
    first = reports[0]
    table = first.table.coefficients
    predicted = [_predicted(cell, table, cell.key in held_out) for cell in cells]
    figures = {
        "predicted.svg": predicted_figure(predicted),
        "predicted-by-cell.svg": predicted_by_cell_figure(predicted),
        "regret.svg": regret_figure(
            _regrets(cells, reports, held_out), "by each method, under a table fitted without the cell"
        ),
        "coefficients.svg": coefficients_figure(
            {report.method: _coefficients(report) for report in reports},
            "lines: 95% of fits on resampled training cells; dots: the table",
        ),
        "terms.svg": terms_figure(_terms(cells, table)),
    }
    if ablation:
        whole = first.left_out.get("cell")
        rows = [_ablated("nothing", "", whole)] if whole else []
        rows += [_ablated("term", term, left) for term, left in ablation.items()]
        figures["ablation.svg"] = ablation_figure(rows, f"{first.method}, one cell left out at a time")
    return figures


def _predicted(cell: FitCell, table: Coefficients, held_out: bool) -> PredictedCell:
    fastest = min(cell.candidates, key=lambda candidate: candidate.median_ms)
    base = _microseconds(cell, fastest.features, table)
    return PredictedCell(
        cell.key,
        held_out,
        [
            PredictedPoint(
                each.label,
                (each.median_ms / fastest.median_ms - 1) * 100,
                (_microseconds(cell, each.features, table) - base) / fastest.median_ms / 10,
            )
            for each in cell.candidates
            if each is not fastest
        ],
    )


def _regrets(
    cells: Sequence[FitCell], reports: Sequence[MethodReport], held_out: Collection[str]
) -> list[RegretRow]:
    by_method = {report.method: _verdicts(cells, report) for report in reports}
    return [
        RegretRow(
            cell.key,
            cell.key in held_out,
            None,
            {method: regrets[cell.key] for method, regrets in by_method.items()},
        )
        for cell in cells
    ]


def _verdicts(cells: Sequence[FitCell], report: MethodReport) -> dict[str, float]:
    left = report.left_out.get("cell")
    verdicts = left.verdicts if left else judge_cells(cells, report.table.coefficients)
    return {verdict.key: verdict.regret_pct for verdict in verdicts}


def _coefficients(report: MethodReport) -> list[CoefficientRow]:
    return [
        CoefficientRow(term, round(each.value), round(each.low), round(each.high))
        for term, each in report.coefficients.items()
    ]


def _terms(cells: Sequence[FitCell], table: Coefficients) -> list[TermsRow]:
    rows: list[TermsRow] = []
    for cell, verdict in zip(cells, judge_cells(cells, table), strict=True):
        selected = next(each for each in cell.candidates if each.label == verdict.selected)
        works = term_contributions(selected.features, cell.facts, table)
        terms = {term: round(work / TABLE_WORK_PER_US) for term, work in works.items() if table[term]}
        rows.append(TermsRow(cell.key, terms, round(selected.median_ms * 1000)))
    return rows


def _ablated(kind: str, name: str, left: LeftOut) -> AblationRow:
    found = left.metrics
    return AblationRow(
        kind,
        name,
        found.cells,
        left.summed_regret_pct,
        found.p95_regret_pct,
        found.max_regret_pct,
        None if found.pairwise_accuracy is None else found.pairwise_accuracy * 100,
    )


def _microseconds(cell: FitCell, features: Any, table: Coefficients) -> float:
    return score_features(features, cell.facts, table)[0] / TABLE_WORK_PER_US
