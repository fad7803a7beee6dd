"""Coefficients with their intervals over resampled cells."""

from collections.abc import Mapping, Sequence

from tracker.figures._canvas import BLUE, PALE, RULE, Canvas, name_width
from tracker.figures._charts import CoefficientRow
from tracker.figures._scale import Scale, bottom_axis, heading

WIDTH, ROW, NUMBERS = 760, 24, 210


def coefficients_figure(methods: Mapping[str, Sequence[CoefficientRow]], note: str) -> str:
    """A panel a method, a line a term.

    Args:
        methods: each one's coefficients.
        note: what the intervals are, in a line.
    """
    rows = [row for each in methods.values() for row in each]
    largest = max([10, *(row.high or 0 for row in rows), *(row.value for row in rows)])
    left = 24 + name_width([row.term for row in rows])
    heights = [34 + ROW * len(each) + 44 for each in methods.values()]
    canvas = Canvas(
        "coefficients",
        "Coefficients of the integer table with their intervals",
        "; ".join(
            f"{method}: " + ", ".join(f"{row.term} {_numbers(row)}" for row in each)
            for method, each in methods.items()
        ),
        WIDTH,
        46 + sum(heights),
    )
    heading(canvas, "Coefficients", [note])
    top = 46
    for (method, each), height in zip(methods.items(), heights, strict=True):
        scale = Scale(0, largest * 1.3, left, WIDTH - NUMBERS, 10)
        _panel(canvas, method, each, scale, top + 28)
        top += height
    return canvas.svg()


def _panel(canvas: Canvas, method: str, rows: Sequence[CoefficientRow], scale: Scale, top: float) -> None:
    bottom = top + ROW * len(rows)
    canvas.text(12, top - 8, method, bold=True)
    canvas.text(WIDTH - 12, top - 8, "value [95% interval]", anchor="end", size=10, fill=PALE)
    bottom_axis(canvas, scale, top, bottom, "milli-µs per unit (linear about zero, then logarithmic)")
    for place, row in enumerate(rows):
        y = top + ROW * (place + 0.5)
        canvas.line(scale.start, y, scale.end, y, RULE)
        canvas.name(scale.start - 8, y + 3.5, row.term, width=scale.start - 16)
        if row.low is not None and row.high is not None:
            canvas.line(scale(row.low), y, scale(row.high), y, BLUE, width=3)
            for end in (row.low, row.high):
                canvas.line(scale(end), y - 5, scale(end), y + 5, BLUE, width=1.5)
        canvas.dot(scale(row.value), y, "#1f2933", f"{row.term}: {_numbers(row)}")
        canvas.text(WIDTH - 12, y + 4, _numbers(row), anchor="end", size=10)


def _numbers(row: CoefficientRow) -> str:
    if row.low is None or row.high is None:
        return f"{row.value:,}"
    return f"{row.value:,} [{row.low:,}, {row.high:,}]"
