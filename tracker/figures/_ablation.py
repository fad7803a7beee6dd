"""The ablation table: how tables do on cells that they have not seen when something is withheld."""

from collections.abc import Sequence

from tracker.figures._canvas import BAND, BLUE, PALE, RULE, Canvas
from tracker.figures._charts import AblationRow
from tracker.figures._scale import Scale, heading

WIDTH, ROW, HEAD = 760, 20, 22
KINDS = {
    "nothing": "Nothing withheld",
    "term": "Without a term",
    "shape": "Without a parallel shape",
    "model": "Without a model",
    "family": "Without a workload family",
}
COLUMNS = ((330, "cells"), (420, "ordered right %"), (505, "p95 %"), (575, "max %"))
BAR_LEFT, BAR_RIGHT = 600, 700


def ablation_figure(rows: Sequence[AblationRow], note: str) -> str:
    """A line for each thing withheld: metrics as numbers, the mean regret of a cell also as a bar.

    Args:
        rows: in the order of ``KINDS``.
        note: how the cells were kept unseen, in a line.
    """
    groups = [(kind, [row for row in rows if row.kind == kind]) for kind in KINDS]
    groups = [(kind, members) for kind, members in groups if members]
    height = 66 + sum(HEAD + ROW * len(members) for _, members in groups) + 14
    canvas = Canvas(
        "ablation",
        "What withholding a term, a shape, a model or a family costs on unseen cells",
        "; ".join(
            f"{KINDS[row.kind]} {row.name}: mean regret {_mean(row):.2f}%, "
            f"largest {_text(row.max_regret_pct)}%"
            for row in rows
        ),
        WIDTH,
        height,
    )
    heading(canvas, "Ablations", [note])
    for x, name in COLUMNS:
        canvas.text(x, 60, name, anchor="end", size=10, fill=PALE)
    canvas.text(BAR_LEFT, 60, "mean regret of a cell, %", size=10, fill=PALE)
    scale = Scale(0.0, max([1.0, *map(_mean, rows)]), BAR_LEFT, BAR_RIGHT, 1.0)
    top = 66.0
    for kind, members in groups:
        canvas.rect(12, top, WIDTH - 24, HEAD - 2, BAND)
        canvas.text(18, top + 14, KINDS[kind], bold=True)
        top += HEAD
        for row in members:
            _line(canvas, row, scale, top)
            top += ROW
    return canvas.svg()


def _line(canvas: Canvas, row: AblationRow, scale: Scale, top: float) -> None:
    canvas.line(12, top + ROW, WIDTH - 12, top + ROW, RULE)
    canvas.name(18, top + 14, row.name or "all terms and groups", width=260, anchor="start")
    texts = (
        f"{row.cells:,}",
        _text(row.ordered_pct),
        _text(row.p95_regret_pct),
        _text(row.max_regret_pct),
    )
    for (x, _), text in zip(COLUMNS, texts, strict=True):
        canvas.text(x, top + 14, text, anchor="end")
    mean = _mean(row)
    canvas.rect(BAR_LEFT, top + 4, max(0.6, scale(mean) - BAR_LEFT), ROW - 8, BLUE)
    canvas.text(scale(mean) + 6, top + 14, f"{mean:.2f}", size=10)


def _mean(row: AblationRow) -> float:
    return row.summed_regret_pct / max(1, row.cells)


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
