"""A plan in words: tables for a console; loaded when a plan is explained."""

from rich.console import Group
from rich.table import Table
from rich.text import Text

from planner._layout import Layout
from planner._select import Selection
from planner._version import Scoring

REFINED = "refined"
LISTED_SEGMENTS = 40


def explanation(selection: Selection, version_1: Selection, scoring: Scoring) -> Group:
    """Return the headline, the picks side by side, the terms, and the physical segments.

    Args:
        selection: the pick.
        version_1: what version 1 picks for the same tree.
        scoring: the table that both are priced by.
    """
    picked = selection.layout
    return Group(
        _headline(selection, scoring),
        _picks(selection, version_1, scoring),
        _terms(picked, scoring),
        _segments(picked),
    )


def _headline(selection: Selection, scoring: Scoring) -> Text:
    layout, tree = selection.layout, selection.layout.tree
    text = Text(
        f"{tree.row_count} rows, {tree.token_count:,} tokens, {len(tree.decisions)} decisions: "
        f"{layout.packed_tokens:,} tokens packed, {scoring.microseconds(selection.score[0]):,.1f} us "
        f"predicted by table {scoring.table_id} ({selection.search} search)"
    )
    for table, refusal in scoring.refusals:
        text.append(f"\n{table} does not apply: {refusal}")
    return text


def _picks(selection: Selection, version_1: Selection, scoring: Scoring) -> Table:
    """The pick, version 1's pick and no sharing, all priced by the one table."""
    table = Table(title="layouts")
    for name in ("layout", "label", "shared", "packed tokens", "segments", "levels", "predicted us"):
        table.add_column(name, justify="left" if name in ("layout", "label") else "right", overflow="fold")
    rows = (
        ("picked", selection.layout, selection.labels),
        ("version 1 would pick", version_1.layout, version_1.labels),
        ("no sharing", _no_sharing(selection.layout), ("no_sharing",)),
    )
    for name, layout, labels in rows:
        table.add_row(
            name,
            next(iter(labels), REFINED),
            str(layout.mask.bit_count()),
            f"{layout.packed_tokens:,}",
            str(layout.segment_count),
            str(layout.max_depth),
            f"{scoring.predicted_us(layout):,.1f}",
        )
    return table


def _terms(layout: Layout, scoring: Scoring) -> Table:
    """Each term's microseconds, and what no sharing would have paid for it."""
    table = Table(title="why")
    table.add_column("term")
    for name in ("us", "share", "without sharing"):
        table.add_column(name, justify="right")
    unshared, own = scoring.contributions_us(_no_sharing(layout)), scoring.contributions_us(layout)
    whole = sum(own.values())
    paid = {name: us for name, us in own.items() if us or unshared[name]}
    for name, us in sorted(paid.items(), key=lambda item: (-item[1], item[0])):
        share = us / whole if whole else 0.0
        table.add_row(name, f"{us:,.1f}", f"{share:.1%}", f"{unshared[name]:,.1f}")
    return table


def _segments(layout: Layout) -> Table:
    table = Table(title="segments")
    for name in ("#", "parent", "start", "end", "level", "rows"):
        table.add_column(name, justify="right")
    for index, segment in enumerate(layout.segments[:LISTED_SEGMENTS]):
        parent = "-" if segment.parent is None else str(segment.parent)
        place = (str(index), parent, f"{segment.start:,}", f"{segment.end:,}", str(segment.level))
        table.add_row(*place, _row_numbers(segment.rows))
    if len(layout.segments) > LISTED_SEGMENTS:
        table.caption = f"and {len(layout.segments) - LISTED_SEGMENTS} more"
    return table


def _row_numbers(rows: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, rows[:6]))
    return shown if len(rows) <= 6 else f"{shown}, ... ({len(rows)})"


def _no_sharing(layout: Layout) -> Layout:
    return Layout(layout.tree, 0)
