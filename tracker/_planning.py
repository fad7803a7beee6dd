"""Plan one batch under several coefficient versions; say what each pick measured, where it was measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner import ScoringFacts, build_prefix_tree, layout_features, select_layout
from schemas import CellPlan, CertifiedCell, NotFoundError
from tracker._ledger import Ledger


@dataclass(frozen=True, slots=True)
class PlannedPick:
    """What one version picks for a batch.

    Args:
        version: the coefficient version.
        label: the picked candidate's first label; `refined` for a layout outside the mandatory family.
        decisions: shared decisions, ascending.
        packed_tokens: tokens that the layout computes.
        segments: its physical segments.
        max_depth: its levels, root and tails included.
        work: the integer score's first entry under that version; comparable within a version alone.
        measured_ms: median of this very layout in the cell, where it was measured.
        over_best_pct: that median above the cell's fastest, percent.
    """

    version: int
    label: str
    decisions: tuple[int, ...]
    packed_tokens: int
    segments: int
    max_depth: int
    work: int
    measured_ms: float | None
    over_best_pct: float | None


def find_cell(ledger: Ledger, campaign: str, key: str) -> tuple[CellPlan, CertifiedCell]:
    """A measured cell of a campaign with its plan.

    Raises:
        NotFoundError: no such cell, or it is not measured; names those that are.
    """
    measured = {cell.cell: cell for cell in ledger.certified_cells(campaign)}
    plans = {plan.identity.key: plan for plan in ledger.manifest(campaign).cells}
    if key not in measured or plans[key].workload.kind == "imported":
        there = [name for name in measured if plans[name].workload.kind != "imported"]
        listed = "\n  ".join(there) or "(none)"
        raise NotFoundError(
            f"campaign {campaign}: no cell {key!r} whose rows can be made; there are:\n  {listed}"
        )
    return plans[key], measured[key]


def held_out_cell(ledger: Ledger, campaign: str) -> str:
    """The first held-out cell of the campaign, else its first cell."""
    manifest = ledger.manifest(campaign)
    return next(iter((*manifest.holdout_keys(), *manifest.keys)))


def compare_picks(
    rows: Sequence[Any],
    facts: ScoringFacts,
    versions: Mapping[int, Mapping[str, int] | None],
    measured: CertifiedCell | None = None,
) -> tuple[PlannedPick, ...]:
    """What each version picks for the rows.

    Args:
        rows: sequences of tokens.
        facts: the running model and parallel shape.
        versions: coefficients by version; None is the hand-set score.
        measured: a cell with the same rows, for the times.
    """
    tree = build_prefix_tree(rows)
    times = {c.decisions: c.median_ms for c in measured.candidates} if measured else {}
    picks: list[PlannedPick] = []
    for version, coefficients in versions.items():
        selected = select_layout(tree, facts, coefficients=coefficients)
        decisions = tuple(selected.decisions)
        features = layout_features(selected.layout)
        ms = times.get(decisions)
        picks.append(
            PlannedPick(
                version=version,
                label=next(iter(selected.labels), "refined"),
                decisions=decisions,
                packed_tokens=features.packed_tokens,
                segments=features.segment_count,
                max_depth=features.max_depth,
                work=selected.score[0],
                measured_ms=ms,
                over_best_pct=None if ms is None else (ms / min(times.values()) - 1) * 100,
            )
        )
    return tuple(picks)
