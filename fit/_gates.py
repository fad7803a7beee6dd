"""Gates: the registered limits, judged on held-out cells with the noise that was measured there."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fit._cells import Evidence, FitCell, Floats, Indices, compile_cells
from fit._judge import GROUPS, group_cells, percentile_95
from fit._keys import first_least, table_keys
from fit._pairs import Pairs, pair_noise_pct, right_order, separation_pct, within_cells
from planner import TERMS, Coefficients
from schemas import Gates, GateVerdict, IncompleteEvidenceError

POOLED = "pooled"


@dataclass(frozen=True, slots=True)
class QualifiedMetrics:
    """Metrics that leave out what the measured noise cannot tell apart.

    Args:
        pairs: pairs further apart than the separation and than their own noise.
        right: how many of them the table orders right.
        regrets: (cells,) percent; zero where selected and fastest lie within their noise.
        clear_regrets: the regrets of the cells whose fastest leads beyond noise.
    """

    pairs: int
    right: int
    regrets: tuple[float, ...]
    clear_regrets: tuple[float, ...]


def gate_verdicts(
    holdout: Sequence[FitCell],
    coefficients: Coefficients | None,
    gates: Gates,
    *,
    retained: Sequence[FitCell] = (),
) -> tuple[GateVerdict, ...]:
    """Every gate on the held-out cells: pooled, then per model, per shape and per family.

    Args:
        holdout: the held-out cells.
        coefficients: the integer table; None is version 1.
        gates: the registered limits.
        retained: all cells; a group that stands here and has no held-out cell gets a verdict that says so.

    Raises:
        IncompleteEvidenceError: no held-out cell at all.
    """
    if not holdout:
        raise IncompleteEvidenceError(
            "no cell is held out, so the gates have nothing to judge; register a holdout with the campaign"
        )
    verdicts = list(_group_verdicts(POOLED, holdout, coefficients, gates))
    for grouping in GROUPS:
        held = group_cells(holdout, grouping)
        for name in group_cells((*retained, *holdout), grouping):
            verdicts += _group_verdicts(f"{grouping}={name}", held.get(name, ()), coefficients, gates)
    return tuple(verdicts)


def qualify(
    cells: Sequence[FitCell], coefficients: Coefficients | None, separation: float
) -> QualifiedMetrics:
    """The noise-qualified metrics of a table over cells, or of version 1 where there is none."""
    evidence = compile_cells(cells, tuple(TERMS if coefficients is None else coefficients))
    keys = table_keys(evidence, coefficients)
    pairs = within_cells(evidence)
    apart = separation_pct(evidence, pairs) > np.maximum(separation, pair_noise_pct(evidence, pairs))
    counted = pairs.only(apart)
    regrets = _beyond_noise(evidence, first_least(evidence, keys))
    runners_up = _fastest(evidence, 1)
    clear = evidence.regret[runners_up] > separation
    clear &= _beyond_noise(evidence, runners_up) > 0
    return QualifiedMetrics(
        pairs=len(counted),
        right=int(right_order(evidence, counted, keys).sum()),
        regrets=tuple(regrets.tolist()),
        clear_regrets=tuple(regrets[clear].tolist()),
    )


def _group_verdicts(
    group: str, cells: Sequence[FitCell], coefficients: Coefficients | None, gates: Gates
) -> tuple[GateVerdict, ...]:
    if not cells:
        detail = "no held-out cell in this group; nothing to judge"
        found = QualifiedMetrics(0, 0, (), ())
    else:
        found = qualify(cells, coefficients, gates.separation_pct)
        detail = f"{len(cells)} held-out cells, {found.pairs} pairs beyond noise"
    pairwise = 100 * found.right / found.pairs if found.pairs else None
    limits = (
        ("regret-median", statistics.median(found.regrets) if cells else None, gates.regret_median_max_pct),
        ("regret-p95", percentile_95(found.regrets) if cells else None, gates.regret_p95_max_pct),
        ("regret-max", max(found.regrets, default=None), gates.regret_max_pct),
        ("clear-winner", max(found.clear_regrets, default=None), gates.clear_winner_pct),
    )
    return (
        GateVerdict(
            gate="pairwise",
            group=group,
            value=pairwise,
            limit=gates.pairwise_min_pct,
            # Pooled, no pair beyond noise means that nothing was shown: that is no pass.
            passed=group != POOLED if pairwise is None else pairwise >= gates.pairwise_min_pct,
            detail=detail,
        ),
        *(
            GateVerdict(
                gate=name,
                group=group,
                value=value,
                limit=limit,
                passed=value is None or value <= limit,
                detail=detail,
            )
            for name, value, limit in limits
        ),
    )


def _fastest(evidence: Evidence, place: int) -> Indices:
    """(cells,) the candidate at a place by time in each cell, the last where there are fewer."""
    order = np.lexsort((evidence.ms, evidence.cell_of))
    sizes = np.diff(np.append(evidence.starts, len(evidence.ms)))
    return order[evidence.starts + np.minimum(place, sizes - 1)]


def _beyond_noise(evidence: Evidence, chosen: Indices) -> Floats:
    """(cells,) regret of the chosen, zero where it lies within the noise between chosen and fastest."""
    cells = np.arange(len(evidence.starts))
    noise = pair_noise_pct(evidence, Pairs(chosen, _fastest(evidence, 0), cells))
    regret = evidence.regret[chosen]
    return np.where(regret > noise, regret, 0.0)
