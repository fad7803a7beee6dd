"""What a table's selections cost and how well it orders: per cell, and as metrics over cells.

The names and rules of the metrics are those of the origin project's certificate: a pair counts when its
medians lie more than 3% apart, whatever their noise.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fit._cells import Evidence, FitCell, Indices, Ints, compile_cells
from fit._keys import first_least, table_keys
from fit._pairs import SEPARATION_PCT, ordered_pairs, right_order
from planner import TERMS, Coefficients, check_coefficients
from schemas import InvalidInputError, Metrics

CLEAR_MISS_PCT = 5.0

GROUPS: Mapping[str, Callable[[FitCell], str]] = {
    "model": lambda cell: cell.model,
    "shape": lambda cell: cell.shape,
    "family": lambda cell: cell.family,
}
"""How cells are grouped, by the name of the grouping."""


@dataclass(frozen=True, slots=True)
class CellVerdict:
    """What a table selects in one cell.

    Args:
        key: the cell.
        selected: label of the candidate of least score.
        best: label of the fastest.
        selected_ms: median of the selected, milliseconds.
        best_ms: median of the fastest.
        regret_pct: how far the selected lies above the fastest, percent.
        lead_pct: how far the runner-up lies above the fastest, percent; infinite without a runner-up.
        clear_winner: whether the lead exceeds the fastest one's spread and 3%.
    """

    key: str
    selected: str
    best: str
    selected_ms: float
    best_ms: float
    regret_pct: float
    lead_pct: float
    clear_winner: bool

    @property
    def clear_miss(self) -> bool:
        """A clear winner passed over for something more than 5% slower."""
        return self.clear_winner and self.regret_pct > CLEAR_MISS_PCT


def judge(cells: Sequence[FitCell], coefficients: Coefficients) -> Metrics:
    """Metrics of an integer table over cells, by the production score.

    Raises:
        InvalidInputError: no cell, or a table that no score can be computed from.
    """
    evidence = _compiled(cells, coefficients)
    return metrics(evidence, table_keys(evidence, coefficients))


def judge_hand_set(cells: Sequence[FitCell]) -> Metrics:
    """Metrics of version 1, the hand-set score, over cells."""
    evidence = _compiled(cells, None)
    return metrics(evidence, table_keys(evidence, None))


def judge_groups(cells: Sequence[FitCell], coefficients: Coefficients, grouping: str) -> dict[str, Metrics]:
    """Metrics of a table over each group of cells.

    Args:
        cells: what to judge on.
        coefficients: the integer table.
        grouping: ``model``, ``shape`` or ``family``.
    """
    return {name: judge(members, coefficients) for name, members in group_cells(cells, grouping).items()}


def judge_cells(cells: Sequence[FitCell], coefficients: Coefficients | None) -> tuple[CellVerdict, ...]:
    """Each cell's selection under a table, or under version 1 where there is none; in cell order."""
    evidence = _compiled(cells, coefficients)
    return cell_verdicts(evidence, first_least(evidence, table_keys(evidence, coefficients)))


def group_cells(cells: Sequence[FitCell], grouping: str) -> dict[str, tuple[FitCell, ...]]:
    """Cells by model, shape or family; groups in ascending order of name."""
    if grouping not in GROUPS:
        raise InvalidInputError(f"no grouping {grouping!r}; there are {', '.join(GROUPS)}")
    name_of = GROUPS[grouping]
    names = sorted({name_of(cell) for cell in cells})
    return {name: tuple(cell for cell in cells if name_of(cell) == name) for name in names}


def metrics(evidence: Evidence, keys: Ints) -> Metrics:
    """The metrics of score keys over compiled cells."""
    pairs = ordered_pairs(evidence)
    right = int(right_order(evidence, pairs, keys).sum())
    return summarize(cell_verdicts(evidence, first_least(evidence, keys)), len(pairs), right)


def summarize(verdicts: Sequence[CellVerdict], pairs: int, right: int) -> Metrics:
    """The metrics of cells whose verdicts are known, with ``right`` of ``pairs`` ordered right."""
    regrets = [verdict.regret_pct for verdict in verdicts]
    return Metrics(
        cells=len(verdicts),
        ordered_pairs=pairs,
        pairwise_accuracy=right / pairs if pairs else None,
        median_regret_pct=statistics.median(regrets),
        p95_regret_pct=percentile_95(regrets),
        max_regret_pct=max(regrets),
        clear_misses=tuple(verdict.key for verdict in verdicts if verdict.clear_miss),
    )


def percentile_95(values: Sequence[float]) -> float:
    """The value at ``int(0.95 n)`` of the sorted ones, the last where that passes the end."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]


def cell_verdicts(evidence: Evidence, selected: Indices) -> tuple[CellVerdict, ...]:
    """What it means that each cell's candidate ``selected`` (an index over all candidates) is taken."""
    return tuple(
        _verdict(cell, int(place - start), float(evidence.regret[place]))
        for cell, place, start in zip(evidence.cells, selected, evidence.starts, strict=True)
    )


def _verdict(cell: FitCell, place: int, regret: float) -> CellVerdict:
    by_time = sorted(cell.candidates, key=lambda candidate: candidate.median_ms)
    best = by_time[0]
    lead = (by_time[1].median_ms - best.median_ms) / best.median_ms * 100 if by_time[1:] else np.inf
    return CellVerdict(
        key=cell.key,
        selected=cell.candidates[place].label,
        best=best.label,
        selected_ms=cell.candidates[place].median_ms,
        best_ms=best.median_ms,
        regret_pct=regret,
        lead_pct=float(lead),
        clear_winner=lead > max(best.spread_pct, SEPARATION_PCT),
    )


def _compiled(cells: Sequence[FitCell], coefficients: Coefficients | None) -> Evidence:
    if coefficients is None:
        return compile_cells(cells, tuple(TERMS))
    try:
        check_coefficients(coefficients)
    except ValueError as error:
        raise InvalidInputError(f"the table cannot be judged: {error}") from error
    return compile_cells(cells, tuple(coefficients))
