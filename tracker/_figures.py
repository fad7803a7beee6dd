"""A comparison of fitting methods as figures: SVG, the same bytes for the same reports by one matplotlib."""

import io
from collections.abc import Mapping, Sequence
from typing import Any, cast

import matplotlib as mpl
from matplotlib.figure import Figure

from fit import FitCell, LeftOut, MethodReport, judge_cells
from planner import WORK_PER_US, Coefficients, score_features, term_contributions

WORK_PER_MS = WORK_PER_US * 1_000_000
"""Coefficients are in milli-microseconds: a work unit is 1/1024 of one."""

SETTINGS: Mapping[str, Any] = {
    "svg.hashsalt": "layoutledger",
    "svg.fonttype": "none",
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
# Typed by the names of its settings, which change with its versions.
_settings: Any = cast("Any", mpl).rc_context

COLOURS = ("#4878a8", "#d1803a", "#5a9a68", "#a05a8c", "#8a8a8a", "#b8a038", "#4aa3a2", "#7a5c48")
TALLEST_IN = 40.0
INCHES_A_CELL = 0.16


def comparison_figures(
    cells: Sequence[FitCell], reports: Sequence[MethodReport], ablation: Mapping[str, LeftOut]
) -> dict[str, str]:
    """Each figure's SVG by its file's name.

    Args:
        cells: the retained cells; the first report's table predicts them.
        reports: of the methods, at least one.
        ablation: the first report's method judged without each term, one cell left out at a time.
    """
    table = reports[0].table.coefficients
    figures = {
        "predicted.svg": predicted_figure(cells, table),
        "regret.svg": regret_figure(cells, reports),
        "coefficients.svg": coefficients_figure(reports),
        "terms.svg": terms_figure(cells, table),
    }
    if ablation:
        figures["ablation.svg"] = ablation_figure(reports[0], ablation)
    return {name: render(figure) for name, figure in figures.items()}


def render(figure: Any) -> str:
    """A matplotlib figure as SVG without dates, its identifiers from a fixed salt."""
    text = io.StringIO()
    with _settings(SETTINGS):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def predicted_figure(cells: Sequence[FitCell], table: Coefficients) -> Figure:
    """Predicted against measured time above the cell's fastest candidate, percent of its time."""
    figure, axes = _axes(5.5, 5.0)
    limit = 0.0
    for place, cell in enumerate(cells):
        best = min(cell.candidates, key=lambda candidate: candidate.median_ms)
        works = [_work(cell, candidate.features, table) for candidate in cell.candidates]
        base = _work(cell, best.features, table)
        measured = [(each.median_ms / best.median_ms - 1) * 100 for each in cell.candidates]
        predicted = [(work - base) / WORK_PER_MS / best.median_ms * 100 for work in works]
        axes.scatter(measured, predicted, s=9, color=COLOURS[place % len(COLOURS)], alpha=0.7, linewidths=0)
        limit = max(limit, *measured)
    axes.plot([0, limit], [0, limit], color="#444444", linewidth=0.7)
    axes.set_xlabel("measured above the cell's fastest, %")
    axes.set_ylabel("predicted above it, %")
    axes.set_title(f"{len(cells)} cells, a colour a cell")
    return figure


def regret_figure(cells: Sequence[FitCell], reports: Sequence[MethodReport]) -> Figure:
    """Each cell's regret by method, under a table fitted without it; under the whole table for one cell."""
    figure, axes = _axes(8.0, 1.5 + INCHES_A_CELL * len(cells) * len(reports))
    height = 0.8 / len(reports)
    for place, report in enumerate(reports):
        left = report.left_out.get("cell")
        verdicts = left.verdicts if left else judge_cells(cells, report.table.coefficients)
        rows = [row + place * height for row in range(len(cells))]
        regrets = [verdict.regret_pct for verdict in verdicts]
        axes.barh(rows, regrets, height, label=report.method, color=COLOURS[place % len(COLOURS)])
    axes.set_yticks(range(len(cells)), [cell.key for cell in cells], fontsize=6)
    axes.invert_yaxis()
    axes.set_xlabel("regret of the selection, %, by a table fitted without the cell")
    axes.legend(loc="lower right")
    return figure


def coefficients_figure(reports: Sequence[MethodReport]) -> Figure:
    """Each coefficient with its interval over resampled cells, a column a method."""
    terms = list(reports[0].coefficients)
    with _settings(SETTINGS):
        figure: Any = Figure(figsize=(2.4 + 2.4 * len(reports), 1.2 + 0.3 * len(terms)), layout="constrained")
        columns: Any = figure.subplots(1, len(reports), sharey=True, squeeze=False)[0]
    rows = range(len(terms))
    for axes, report in zip(columns, reports, strict=True):
        found = [report.coefficients[term] for term in terms]
        axes.hlines(rows, [i.low for i in found], [i.high for i in found], color=COLOURS[0], linewidth=2)
        axes.plot([i.value for i in found], rows, "o", color="#222222", markersize=3)
        axes.set_xscale("symlog", linthresh=1000)
        axes.set_title(report.method)
        axes.set_xlabel("milli-us per unit, 95%")
        axes.set_yticks(rows, terms)
    columns[0].invert_yaxis()
    return figure


def terms_figure(cells: Sequence[FitCell], table: Coefficients) -> Figure:
    """What each term adds to the predicted time of each cell's selection, milliseconds."""
    figure, axes = _axes(8.0, 1.5 + INCHES_A_CELL * len(cells))
    by_cell = [
        term_contributions(_selected(cell, verdict.selected), cell.facts, table)
        for cell, verdict in zip(cells, judge_cells(cells, table), strict=True)
    ]
    starts = [0.0] * len(cells)
    for place, term in enumerate(name for name, value in table.items() if value):
        widths = [works[term] / WORK_PER_MS for works in by_cell]
        axes.barh(
            range(len(cells)), widths, 0.8, left=starts, label=term, color=COLOURS[place % len(COLOURS)]
        )
        starts = [start + width for start, width in zip(starts, widths, strict=True)]
    axes.set_yticks(range(len(cells)), [cell.key for cell in cells], fontsize=6)
    axes.invert_yaxis()
    axes.set_xlabel("predicted milliseconds of the selection, by term")
    if any(table.values()):
        axes.legend(loc="lower right", fontsize=6)
    return figure


def ablation_figure(report: MethodReport, ablation: Mapping[str, LeftOut]) -> Figure:
    """What leaving out one cell at a time gives without each term, as a table."""
    figure, axes = _axes(7.0, 1.0 + 0.28 * (len(ablation) + 2))
    axes.axis("off")
    whole = report.left_out.get("cell")
    entries = {**({"(none)": whole} if whole else {}), **{term: ablation[term] for term in ablation}}
    axes.table(
        cellText=[[term, *_ablated(left)] for term, left in entries.items()],
        colLabels=["without", "summed regret %", "p95 %", "max %", "ordered right %"],
        loc="center",
        cellLoc="right",
    )
    axes.set_title(f"{report.method}, one cell left out at a time")
    return figure


def _ablated(left: LeftOut) -> list[str]:
    found = left.metrics
    accuracy = found.pairwise_accuracy
    numbers = (left.summed_regret_pct, found.p95_regret_pct, found.max_regret_pct)
    texts = ["-" if number is None else f"{number:.2f}" for number in numbers]
    return [*texts, "-" if accuracy is None else f"{accuracy * 100:.2f}"]


def _axes(width: float, height: float) -> tuple[Figure, Any]:
    with _settings(SETTINGS):
        figure: Any = Figure(figsize=(width, min(TALLEST_IN, height)), layout="constrained")
        return figure, figure.add_subplot()


def _work(cell: FitCell, features: Any, table: Coefficients) -> int:
    return score_features(features, cell.facts, table)[0]


def _selected(cell: FitCell, label: str) -> Any:
    return next(candidate.features for candidate in cell.candidates if candidate.label == label)
