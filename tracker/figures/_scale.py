"""Axes: from values to pixels, with ticks that people can read."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, copysign, floor, log10

from tracker.figures._canvas import INK, PALE, RULE, Canvas

MARKS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis from `low` to `high` over pixels from `start` to `end`.

    A bent scale shows log10(1 + |v / bend|) with the sign of v: linear about zero, logarithmic far from it,
    so that small values stay visible beside large ones. Without a bend it is linear.
    """

    low: float
    high: float
    start: float
    end: float
    bend: float | None = None

    def __call__(self, value: float) -> float:
        """The pixel of a value; values outside are drawn at the ends."""
        low, high = self._bent(self.low), self._bent(self.high)
        share = (self._bent(value) - low) / (high - low) if high > low else 0.0
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    def _bent(self, value: float) -> float:
        return value if self.bend is None else copysign(log10(1 + abs(value / self.bend)), value)

    def ticks(self, apart: float = 34) -> list[float]:
        """Round values within the axis, zero first, at least `apart` pixels from each other."""
        if self.bend is None:
            return self._even(apart)
        reach = max(abs(self.low), abs(self.high))
        powers = range(floor(log10(self.bend)), ceil(log10(max(reach, self.bend))) + 1)
        sizes = [mark * 10.0**power for power in powers for mark in MARKS]
        ordered = [0.0, *(size for size in sizes if size >= self.bend)]
        kept: list[float] = []
        for value in (sign * size for size in ordered for sign in ((1, -1) if size else (1,))):
            near = any(abs(self(value) - self(other)) < apart for other in kept)
            if self.low <= value <= self.high and not near:
                kept.append(value)
        return sorted(kept)

    def _even(self, apart: float) -> list[float]:
        most = max(1.0, abs(self.end - self.start) / apart)
        rough = (self.high - self.low) / most or 1.0
        power = 10.0 ** floor(log10(rough))
        step = next(mark * power for mark in (*MARKS, 10) if mark * power >= rough)
        first = ceil(self.low / step)
        return [number * step for number in range(first, floor(self.high / step) + 1)]


def short(value: float) -> str:
    """A tick's label: `0`, `0.5`, `20`, `5k`, `2M`."""
    size = abs(value)
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if size >= unit:
            return f"{value / unit:g}{letter}".replace("-", "\u2212")
    return f"{value:g}".replace("-", "\u2212")


def bottom_axis(canvas: Canvas, scale: Scale, top: float, bottom: float, label: str) -> None:
    """Vertical rules from top to bottom with their values below, and what they are."""
    for value in scale.ticks():
        x = scale(value)
        canvas.line(x, top, x, bottom, PALE if value == 0 else RULE)
        canvas.text(x, bottom + 14, short(value), anchor="middle", size=10, fill=PALE)
    canvas.text((scale.start + scale.end) / 2, bottom + 30, label, anchor="middle")


def left_axis(canvas: Canvas, scale: Scale, left: float, right: float, label: str) -> None:
    """Horizontal rules from left to right with their values beside, and what they are."""
    for value in scale.ticks(20):
        y = scale(value)
        canvas.line(left, y, right, y, PALE if value == 0 else RULE)
        canvas.text(left - 6, y + 3.5, short(value), anchor="end", size=10, fill=PALE)
    canvas.text(left - 42, (scale.start + scale.end) / 2, label, anchor="middle", turned=True)


def heading(canvas: Canvas, title: str, lines: Sequence[str], left: float = 12) -> None:
    """The title with what it says below."""
    canvas.text(left, 20, title, size=14, bold=True, fill=INK)
    for place, line in enumerate(lines):
        canvas.text(left, 38 + 15 * place, line, fill=PALE)
