"""Regret by cell: under the table, under one that had not seen the cell, under version 1."""

from collections.abc import Callable, Sequence

from tracker.figures._canvas import (
    BAND,
    BLUE,
    GREEN,
    GREY,
    PALE,
    RULE,
    SANS_WIDTH,
    VERMILLION,
    Canvas,
    name_width,
)
from tracker.figures._charts import RegretRow
from tracker.figures._scale import Scale, bottom_axis, heading

WIDTH, ROW = 760, 17
MOST_ROWS = 120

Mark = Callable[[Canvas, float, float, str], None]
MARKS: tuple[Mark, ...] = (
    lambda canvas, x, y, tip: canvas.dot(x, y, BLUE, tip),
    lambda canvas, x, y, tip: canvas.diamond(x, y, VERMILLION, tip),
    lambda canvas, x, y, tip: canvas.cross(x, y, GREY, tip),
    lambda canvas, x, y, tip: canvas.cross(x, y, GREEN, tip, radius=2.5),
)


def regret_figure(rows: Sequence[RegretRow], note: str) -> str:
    """A line a cell, the worst first; a band as wide as the noise between selected and fastest.

    Args:
        rows: the cells, each with the regrets of the same tables in the same order.
        note: what the tables are, in a line.
    """
    series = list(dict.fromkeys(name for row in rows for name in row.regrets))
    shown = sorted(rows, key=_worst)[:MOST_ROWS]
    names = [_name(row) for row in shown]
    left = 32 + name_width(names, 330)
    top = 82
    bottom = top + ROW * len(shown)
    canvas = Canvas(
        "regret",
        "Regret of the selection by cell",
        f"How far the selected candidate lies above the fastest, percent, for {len(shown)} cells, the worst "
        f"first, under {len(series)} tables: {', '.join(series)}.",
        WIDTH,
        bottom + 44,
    )
    some = f"; the {len(shown)} worst of {len(rows)} cells" if len(shown) < len(rows) else ""
    heading(canvas, "Regret by cell", [note + some])
    _legend(canvas, series, 12, 56)
    largest = max([1.0, *(value for row in rows for value in row.regrets.values() if value is not None)])
    scale = Scale(0.0, largest * 1.1, left, WIDTH - 20, 1.0)
    _bands(canvas, shown, scale, top)
    bottom_axis(canvas, scale, top, bottom, "time of the selected candidate above the fastest, %")
    for place, row in enumerate(shown):
        y = top + ROW * (place + 0.5)
        canvas.line(left, y, WIDTH - 20, y, RULE)
        canvas.name(left - 12, y + 3.5, names[place], width=left - 20)
        for order, name in reversed(list(enumerate(series))):
            value = row.regrets.get(name)
            if value is not None:
                tip = f"{row.cell}, {name}: {value:.2f}%"
                MARKS[order % len(MARKS)](canvas, scale(value), y, tip)
    return canvas.svg()


def _bands(canvas: Canvas, rows: Sequence[RegretRow], scale: Scale, top: float) -> None:
    for place, row in enumerate(rows):
        if row.noise_pct:
            width = scale(row.noise_pct) - scale.start
            tip = f"{row.cell}: noise {row.noise_pct:.2f}%"
            canvas.rect(scale.start, top + ROW * place + 2, width, ROW - 4, BAND, tip)


def _legend(canvas: Canvas, series: Sequence[str], x: float, y: float) -> None:
    for order, name in enumerate(series):
        MARKS[order % len(MARKS)](canvas, x + 6, y, "")
        canvas.text(x + 16, y + 4, name)
        x += 34 + 11 * SANS_WIDTH * len(name)
    canvas.rect(x, y - 6, 14, 12, BAND)
    canvas.text(x + 20, y + 4, "its noise")
    canvas.text(WIDTH - 20, y + 4, "◇ before a name: held out", anchor="end", fill=PALE)


def _worst(row: RegretRow) -> tuple[tuple[float, ...], str]:
    return tuple(-(value or 0.0) for value in row.regrets.values()), row.cell


def _name(row: RegretRow) -> str:
    return f"◇ {row.cell}" if row.held_out else row.cell
