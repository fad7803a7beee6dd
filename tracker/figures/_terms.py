"""What each term adds to the predicted time of each cell's selection."""

from collections.abc import Sequence

from planner import TERMS
from tracker.figures._canvas import PALE, SANS_WIDTH, Canvas, name_width
from tracker.figures._charts import TermsRow
from tracker.figures._scale import Scale, bottom_axis, heading

WIDTH, ROW, NUMBERS = 760, 17, 148
MOST_ROWS = 120
# Ten colours that people with any colour vision tell apart (P. Tol, "muted"), the lightest ones darkened.
COLOURS = (
    "#332288",
    "#6fb3d2",
    "#3a9a8c",
    "#117733",
    "#8a8a2e",
    "#c9b458",
    "#cc6677",
    "#882255",
    "#aa4499",
    "#8c8c8c",
)


def terms_figure(rows: Sequence[TermsRow]) -> str:
    """A bar a cell, divided by the shares of the terms, with predicted and measured milliseconds beside."""
    shown = list(rows)[:MOST_ROWS]
    used = [term for term in TERMS if any(row.terms.get(term) for row in rows)]
    left = 24 + name_width([row.cell for row in shown])
    legend = _places(used)
    top = 62 + 18 * (max((line for _, line in legend), default=0) + 1)
    bottom = top + ROW * len(shown)
    canvas = Canvas(
        "terms",
        "Share of each term in the predicted time of the selection, by cell",
        f"{len(shown)} cells, a bar a cell, divided by {len(used)} terms: {', '.join(used)}.",
        WIDTH,
        bottom + 44,
    )
    some = f"; the first {len(shown)} of {len(rows)} cells" if len(shown) < len(rows) else ""
    heading(
        canvas,
        "Term contributions",
        [f"to the predicted time of the selection; what all candidates share may be missing{some}"],
    )
    for term, (x, line) in zip(used, legend, strict=True):
        canvas.rect(12 + x, 52 + 18 * line, 12, 12, _colour(term))
        canvas.text(30 + x, 62 + 18 * line, term)
    scale = Scale(0, 100, left, WIDTH - NUMBERS)
    bottom_axis(canvas, scale, top, bottom, "share of the predicted time, %")
    canvas.text(WIDTH - 86, top - 5, "predicted", anchor="end", size=10, fill=PALE)
    canvas.text(WIDTH - 12, top - 5, "measured ms", anchor="end", size=10, fill=PALE)
    for place, row in enumerate(shown):
        _bar(canvas, row, used, scale, top + ROW * place)
    return canvas.svg()


def _bar(canvas: Canvas, row: TermsRow, used: Sequence[str], scale: Scale, top: float) -> None:
    total = sum(row.terms.values())
    canvas.name(scale.start - 8, top + 12, row.cell, width=scale.start - 16)
    before = 0
    for term in used:
        value = row.terms.get(term, 0)
        if not value:
            continue
        start, end = (scale(100 * each / total) for each in (before, before + value))
        tip = f"{row.cell}, {term}: {value / 1000:,.3f} ms, {100 * value / total:.1f}%"
        canvas.rect(start, top + 2, max(0.4, end - start - 0.8), ROW - 4, _colour(term), tip)
        before += value
    canvas.text(WIDTH - 86, top + 12, _ms(total), anchor="end", size=10)
    canvas.text(WIDTH - 12, top + 12, _ms(row.measured_us), anchor="end", size=10)


def _ms(microseconds: int) -> str:
    digits = 0 if microseconds >= 1_000_000 else 1 if microseconds >= 10_000 else 3
    return f"{microseconds / 1000:,.{digits}f}"


def _colour(term: str) -> str:
    return COLOURS[list(TERMS).index(term) % len(COLOURS)]


def _places(terms: Sequence[str]) -> list[tuple[float, int]]:
    """Where each legend entry begins, and on which line."""
    x, line = 0.0, 0
    places: list[tuple[float, int]] = []
    for term in terms:
        width = 36 + 11 * SANS_WIDTH * len(term)
        if x + width > WIDTH - 24 and places:
            x, line = 0.0, line + 1
        places.append((x, line))
        x += width
    return places
