"""A plan in words: tables for a console; loaded when a plan is explained."""

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from planner._layout import Layout
    from planner._planner import Plan

REFINED = "refined"
LISTED_SEGMENTS = 40


def explanation(plan: "Plan") -> Group:
    """Return the headline, the picks side by side, the terms, and the physical segments."""
    return Group(_headline(plan), _picks(plan), _terms(plan), _segments(plan))


def _headline(plan: "Plan") -> Text:
    scoring, tree = plan.scoring, plan.tree
    text = Text(
        f"{tree.row_count} rows, {tree.token_count:,} tokens, {len(tree.decisions)} decisions: "
        f"{plan.layout.packed_tokens:,} tokens packed, {plan.predicted_us:,.1f} us predicted by "
        f"table {scoring.table_id} ({plan.selection.search} search)"
    )
    for table, refusal in scoring.refusals:
        text.append(f"\n{table} does not apply: {refusal}")
    return text


def _picks(plan: "Plan") -> Table:
    """The pick, version 1's pick and no sharing, all priced by the plan's table."""
    table = Table(title="layouts")
    for name in ("layout", "label", "shared", "packed tokens", "segments", "levels", "predicted us"):
        table.add_column(name, justify="left" if name in ("layout", "label") else "right", overflow="fold")
    version_1 = plan.version_1
    rows = (
        ("picked", plan.layout, plan.selection.labels),
        ("version 1 would pick", version_1.layout, version_1.labels),
        ("no sharing", _no_sharing(plan), ("no_sharing",)),
    )
    for name, layout, labels in rows:
        table.add_row(
            name,
            next(iter(labels), REFINED),
            str(layout.mask.bit_count()),
            f"{layout.packed_tokens:,}",
            str(layout.segment_count),
            str(layout.max_depth),
            f"{plan.predicted_us_of(layout):,.1f}",
        )
    return table


def _terms(plan: "Plan") -> Table:
    """Each term's microseconds, and what no sharing would have paid for it."""
    table = Table(title="why")
    table.add_column("term")
    for name in ("us", "share", "without sharing"):
        table.add_column(name, justify="right")
    unshared = plan.contributions_of(_no_sharing(plan))
    paid = {name: us for name, us in plan.contributions.items() if us or unshared[name]}
    for name, us in sorted(paid.items(), key=lambda item: (-item[1], item[0])):
        share = us / plan.predicted_us if plan.predicted_us else 0.0
        table.add_row(name, f"{us:,.1f}", f"{share:.1%}", f"{unshared[name]:,.1f}")
    return table


def _segments(plan: "Plan") -> Table:
    table = Table(title="segments")
    for name in ("#", "parent", "start", "end", "level", "rows"):
        table.add_column(name, justify="right")
    for index, segment in enumerate(plan.segments[:LISTED_SEGMENTS]):
        parent = "-" if segment.parent is None else str(segment.parent)
        place = (str(index), parent, f"{segment.start:,}", f"{segment.end:,}", str(segment.level))
        table.add_row(*place, _row_numbers(segment.rows))
    if len(plan.segments) > LISTED_SEGMENTS:
        table.caption = f"and {len(plan.segments) - LISTED_SEGMENTS} more"
    return table


def _row_numbers(rows: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, rows[:6]))
    return shown if len(rows) <= 6 else f"{shown}, ... ({len(rows)})"


def _no_sharing(plan: "Plan") -> "Layout":
    return type(plan.layout)(plan.tree, 0)
