"""Bars as SVG, written by hand: a run's artifacts must have the same bytes on every machine."""

from collections.abc import Sequence
from html import escape

ROW, LABEL, BAR, VALUE, HEAD = 18, 260, 320, 110, 28


def bars(title: str, unit: str, rows: Sequence[tuple[str, float]]) -> str:
    """A horizontal bar a row: label, length by value, value.

    Args:
        title: what the bars show.
        unit: of the values.
        rows: labels and values of zero or more, in the order in which they are drawn.
    """
    greatest = max((value for _, value in rows), default=0) or 1
    width, height = LABEL + BAR + VALUE, HEAD + ROW * len(rows) + 8
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        f'<text x="8" y="18" font-weight="bold">{escape(title)} ({escape(unit)})</text>',
    ]
    for place, (label, value) in enumerate(rows):
        top = HEAD + ROW * place
        length = round(BAR * value / greatest)
        lines += [
            f'<text x="{LABEL - 6}" y="{top + 12}" text-anchor="end">{escape(label)}</text>',
            f'<rect x="{LABEL}" y="{top + 2}" width="{length}" height="{ROW - 5}" fill="#4878a8"/>',
            f'<text x="{LABEL + length + 5}" y="{top + 12}">{value:,.10g}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])
