"""A plan as a figure of its tree; loaded when a figure is asked for."""

from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from planner._layout import Layout
from planner._tree import PrefixTree

SHARED, REPLAYED, ALONE = "#4878a8", "#e8eef5", "#c9c9c9"
LARGEST_HEIGHT_IN = 24.0


def tree_figure(layout: Layout, predicted_us: float) -> Figure:
    """Draw the tree over token positions: rows downwards in tree order, shared segments filled once.

    Args:
        layout: what is shared of its tree.
        predicted_us: its predicted time in microseconds, for the title.
    """
    tree = layout.tree
    height = min(LARGEST_HEIGHT_IN, 1.6 + 0.18 * tree.row_count)
    figure: Any = Figure(figsize=(9.0, height), layout="constrained")
    axes: Any = figure.add_subplot()
    shared = set(layout.decisions)
    for (start, end, top, count), node in zip(_boxes(tree), range(len(tree)), strict=True):
        color = SHARED if node in shared else REPLAYED if count > 1 else ALONE
        axes.add_patch(
            Rectangle((start, top), end - start, count, facecolor=color, edgecolor="#444444", linewidth=0.5)
        )
    axes.set_xlim(0, max(tree.ends))
    axes.set_ylim(tree.row_count, 0)
    axes.set_xlabel("token position")
    axes.set_ylabel("rows, in tree order")
    axes.set_title(
        f"{layout.packed_tokens:,} of {tree.token_count:,} tokens computed, "
        f"{layout.max_depth} levels, {predicted_us:,.0f} us predicted"
    )
    legend = ((SHARED, "shared"), (REPLAYED, "replayed by what follows"), (ALONE, "of one row"))
    figure.legend(
        handles=[Patch(facecolor=color, edgecolor="#444444", label=label) for color, label in legend],
        loc="outside lower center",
        ncols=3,
    )
    return figure


def _boxes(tree: PrefixTree) -> list[tuple[int, int, int, int]]:
    """Start, end, first row in tree order and number of rows of every segment."""
    return [(segment.start, segment.end, segment.first_row, segment.row_count) for segment in tree.segments]
