"""An SVG picture, written by hand: a run's artifacts must have the same bytes on every machine.

A plotting library's pictures change with its version, its fonts and the machine, so that a sealed run would
seem edited. Colours keep a contrast of 3 to 1 on white, and no meaning hangs on colour alone.
"""

import re
from collections.abc import Sequence
from html import escape

BLUE, VERMILLION, GREEN, GREY = "#0072b2", "#c44e00", "#00785a", "#595959"
INK, PALE, RULE, BAND = "#1f2933", "#5a6672", "#dfe4ea", "#e9eef5"

SANS = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
MONO = "ui-monospace, Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace"
MONO_WIDTH = 0.61
"""Width of a fixed-width letter over its size, a little more than any common font has."""
SANS_WIDTH = 0.58

# What XML cannot hold, and what hides or reorders text.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]+")


class Canvas:
    """Shapes in the order in which they are drawn; coordinates in pixels from the upper left.

    Args:
        name: prefix of the picture's identifiers, unique on a page.
        title: what it shows, in a line; a reader that cannot see hears it first.
        description: what a person would take from it.
        width: in pixels.
        height: in pixels.
    """

    def __init__(self, name: str, title: str, description: str, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" aria-labelledby="{name}-title {name}-desc" '
            f'font-family="{SANS}" font-size="11" fill="{INK}">',
            f'<title id="{name}-title">{plain(title)}</title>',
            f'<desc id="{name}-desc">{plain(description)}</desc>',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        ]

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        anchor: str = "start",
        size: float = 11,
        fill: str = INK,
        bold: bool = False,
        turned: bool = False,
    ) -> None:
        """A line of text; `turned` reads upwards."""
        more = ' font-weight="600"' if bold else ""
        more += f' transform="rotate(-90 {px(x)} {px(y)})"' if turned else ""
        self._parts.append(
            f'<text x="{px(x)}" y="{px(y)}" text-anchor="{anchor}" font-size="{px(size)}" '
            f'fill="{fill}"{more}>{plain(text)}</text>'
        )

    def name(self, x: float, y: float, text: str, *, width: float, anchor: str = "end") -> None:
        """A name from evidence in fixed width; its middle is left out where it is longer than `width`."""
        size = 10
        shown = shorten(text, int(width / (size * MONO_WIDTH)))
        self._parts.append(
            f'<text x="{px(x)}" y="{px(y)}" text-anchor="{anchor}" font-size="{size}" '
            f'font-family="{MONO}"><title>{plain(text)}</title>{plain(shown)}</text>'
        )

    def rect(self, x: float, y: float, width: float, height: float, fill: str, tip: str = "") -> None:
        """A filled rectangle; `tip` is shown under the pointer."""
        self._shape(
            f'rect x="{px(x)}" y="{px(y)}" width="{px(width)}" height="{px(height)}" fill="{fill}"', tip
        )

    def line(
        self, x1: float, y1: float, x2: float, y2: float, colour: str = RULE, *, width: float = 1
    ) -> None:
        """A straight line."""
        self._shape(
            f'line x1="{px(x1)}" y1="{px(y1)}" x2="{px(x2)}" y2="{px(y2)}" stroke="{colour}" '
            f'stroke-width="{px(width)}"'
        )

    def dot(self, x: float, y: float, colour: str, tip: str = "", *, radius: float = 3.5) -> None:
        """A filled circle."""
        self._shape(f'circle cx="{px(x)}" cy="{px(y)}" r="{px(radius)}" fill="{colour}"', tip)

    def diamond(self, x: float, y: float, colour: str, tip: str = "", *, radius: float = 4.5) -> None:
        """A hollow square on its corner."""
        ends = ((x, y - radius), (x + radius, y), (x, y + radius), (x - radius, y))
        points = " ".join(f"{px(left)},{px(top)}" for left, top in ends)
        self._shape(f'polygon points="{points}" fill="#ffffff" stroke="{colour}" stroke-width="1.6"', tip)

    def cross(self, x: float, y: float, colour: str, tip: str = "", *, radius: float = 3.5) -> None:
        """Two crossing strokes."""
        low, high, left, right = px(y - radius), px(y + radius), px(x - radius), px(x + radius)
        path = f"M{left} {low}L{right} {high}M{left} {high}L{right} {low}"
        self._shape(f'path d="{path}" stroke="{colour}" stroke-width="1.6" fill="none"', tip)

    def svg(self) -> str:
        """The picture."""
        return "\n".join([*self._parts, "</svg>", ""])

    def _shape(self, shape: str, tip: str = "") -> None:
        name = shape.partition(" ")[0]
        self._parts.append(f"<{shape}><title>{plain(tip)}</title></{name}>" if tip else f"<{shape}/>")


def px(value: float) -> str:
    """A coordinate to a tenth of a pixel."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def plain(text: str) -> str:
    """Text as XML shows it, whatever it holds; what would break, hide or reorder it becomes a sign."""
    return escape(_CONTROL.sub("\ufffd", text))


def shorten(text: str, letters: int) -> str:
    """The text, or its beginning and end about an ellipsis."""
    if len(text) <= letters:
        return text
    tail = max(1, letters * 3 // 5)
    return f"{text[: max(1, letters - tail - 1)]}…{text[-tail:]}"


def name_width(names: Sequence[str], most: float = 300) -> float:
    """Pixels that the longest of the names needs, no more than `most`."""
    return min(most, max((len(name) for name in names), default=1) * 10 * MONO_WIDTH)
