"""Predicted against measured: all candidates in one plane, and each cell in its own."""

from collections.abc import Sequence

from tracker.figures._canvas import BAND, BLUE, GREY, MONO_WIDTH, PALE, RULE, VERMILLION, Canvas, shorten
from tracker.figures._charts import PredictedCell, PredictedPoint
from tracker.figures._scale import Scale, bottom_axis, heading, left_axis, short

WIDTH = 760
TIE_PCT = 3.0
"""Two medians nearer than this are a tie (design, section 8)."""
MOST_CELLS = 120
PANEL, GAP, ACROSS = 132, 50, 4


def predicted_figure(cells: Sequence[PredictedCell]) -> str:
    """How far each candidate lies above its cell's fastest: as measured, and as the table says."""
    top, side = 62, 440
    left = 84
    canvas = Canvas(
        "predicted",
        "Predicted against measured time of every candidate",
        f"{_count(cells)}: time above the fastest candidate of its cell, percent, measured across and "
        "predicted upwards. On the diagonal the table is right.",
        WIDTH,
        top + side + 44,
    )
    heading(
        canvas,
        "Predicted against measured",
        [f"{_count(cells)}; each stands where its distance from its cell's fastest puts it"],
    )
    points = [point for cell in cells for point in cell.points]
    across, up = _scales(points, left, left + side, top, top + side)
    canvas.rect(left, up(TIE_PCT), side, up(-TIE_PCT) - up(TIE_PCT), BAND)
    canvas.rect(left, top, across(TIE_PCT) - left, side, BAND)
    bottom_axis(canvas, across, top, top + side, "measured above the cell's fastest, %")
    left_axis(canvas, up, left, left + side, "predicted above it, %")
    _diagonal(canvas, across, up)
    for cell in sorted(cells, key=lambda each: each.held_out):
        _draw(canvas, cell, across, up)
    _legend(canvas, left + side + 24, top + 16, cells)
    return canvas.svg()


def predicted_by_cell_figure(cells: Sequence[PredictedCell]) -> str:
    """A small plane for each cell, all on the same axes."""
    shown = list(cells)[:MOST_CELLS]
    rows = -(-len(shown) // ACROSS)
    top, left = 62, 46
    canvas = Canvas(
        "predicted-by-cell",
        "Predicted against measured time, cell by cell",
        f"{len(shown)} small planes on the same axes, one a cell: time above the cell's fastest candidate, "
        "percent, measured across and predicted upwards.",
        WIDTH,
        top + rows * (PANEL + GAP) + 10,
    )
    left_out = f"; the first {len(shown)} of {len(cells)}" if len(shown) < len(cells) else ""
    heading(
        canvas,
        "Predicted against measured, cell by cell",
        [f"above the cell's fastest candidate, %: measured across, predicted upwards{left_out}"],
    )
    points = [point for cell in cells for point in cell.points]
    for place, cell in enumerate(shown):
        x = left + place % ACROSS * (PANEL + GAP)
        y = top + place // ACROSS * (PANEL + GAP) + 14
        _panel(canvas, cell, points, x, y)
    return canvas.svg()


def _panel(canvas: Canvas, cell: PredictedCell, points: Sequence[PredictedPoint], x: int, y: int) -> None:
    across, up = _scales(points, x, x + PANEL, y, y + PANEL)
    front = "◇ " if cell.held_out else ""
    letters = int((PANEL + GAP - 12) / (9 * MONO_WIDTH)) - len(front)
    for line, text in enumerate(_halves(cell.cell, letters)):
        canvas.text(x - 14, y - 14 + 10 * line, front * (line == 0) + text, size=9)
    for scale in (across, up):
        for value in scale.ticks(30):
            at = scale(value)
            colour = PALE if value == 0 else RULE
            if scale is across:
                canvas.line(at, y, at, y + PANEL, colour)
                canvas.text(at, y + PANEL + 10, short(value), anchor="middle", size=8, fill=PALE)
            else:
                canvas.line(x, at, x + PANEL, at, colour)
                canvas.text(x - 3, at + 3, short(value), anchor="end", size=8, fill=PALE)
    _diagonal(canvas, across, up)
    _draw(canvas, cell, across, up)
    if not cell.points:
        canvas.text(x + PANEL / 2, y + PANEL / 2, "one candidate", anchor="middle", size=9, fill=PALE)


def _halves(name: str, letters: int) -> list[str]:
    """A long name on two lines, broken at one of its bars where that fits."""
    if len(name) <= letters:
        return ["", name]
    breaks = [place for place, sign in enumerate(name) if sign == "|" and 0 < place < letters]
    at = breaks[-1] + 1 if breaks else letters
    return [shorten(name[:at], letters), shorten(name[at:], letters)]


def _scales(
    points: Sequence[PredictedPoint], left: float, right: float, top: float, bottom: float
) -> tuple[Scale, Scale]:
    values = [value for point in points for value in (point.measured_pct, point.predicted_pct)]
    high = max([10.0, *values]) * 1.15
    low = min([0.0, *(point.predicted_pct for point in points)]) * 1.15
    return Scale(0.0, high, left, right, 1.0), Scale(min(low, -1.0), high, bottom, top, 1.0)


def _diagonal(canvas: Canvas, across: Scale, up: Scale) -> None:
    canvas.line(across(0), up(0), across(across.high), up(up.high), GREY, width=1.2)


def _draw(canvas: Canvas, cell: PredictedCell, across: Scale, up: Scale) -> None:
    for point in cell.points:
        x, y = across(point.measured_pct), up(point.predicted_pct)
        tip = (
            f"{cell.cell}, {point.label}: measured {point.measured_pct:+.2f}%, "
            f"predicted {point.predicted_pct:+.2f}%"
        )
        if cell.held_out:
            canvas.diamond(x, y, VERMILLION, tip, radius=4)
        else:
            canvas.dot(x, y, BLUE, tip, radius=2.6)


def _legend(canvas: Canvas, x: float, y: float, cells: Sequence[PredictedCell]) -> None:
    held = sum(cell.held_out for cell in cells)
    canvas.dot(x + 6, y, BLUE)
    canvas.text(x + 18, y + 4, f"training cells ({len(cells) - held})")
    canvas.diamond(x + 6, y + 20, VERMILLION)
    canvas.text(x + 18, y + 24, f"held-out cells ({held})")
    canvas.line(x, y + 40, x + 12, y + 40, GREY, width=1.2)
    canvas.text(x + 18, y + 44, "predicted as measured")
    canvas.rect(x, y + 54, 12, 12, BAND)
    canvas.text(x + 18, y + 64, f"within {TIE_PCT:g}%: a tie")
    canvas.text(x, y + 92, "Both axes are linear about", fill=PALE)
    canvas.text(x, y + 107, "zero and logarithmic beyond.", fill=PALE)


def _count(cells: Sequence[PredictedCell]) -> str:
    return f"{sum(len(cell.points) for cell in cells)} candidates of {len(cells)} cells"
