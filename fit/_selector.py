"""The table in the planner's hands: what the real search selects, and what that selection measured.

A fit compares measured candidates only. The search looks further, so a table may send it to layouts that
no one has timed: those are listed, to be measured next.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fit._cells import FitCell
from fit._judge import percentile_95
from fit._methods import FittedTable, fit_table
from planner import Coefficients, LayoutFeatures, PrefixTree, select_layout
from schemas import FitArguments, IncompleteEvidenceError, InvalidInputError


@dataclass(frozen=True, slots=True)
class SearchedCell:
    """A measured cell with the tree that the search runs on.

    Args:
        cell: its candidates and medians.
        tree: the prefix tree of its rows.
        automatic_ms: median time of the planner's own choice when the cell was measured, where it was timed.
        measured: label of each measured candidate by its shared decisions, where the evidence holds them:
            layouts that no policy gives are told by these alone.
    """

    cell: FitCell
    tree: PrefixTree
    automatic_ms: float | None = None
    measured: Mapping[tuple[int, ...], str] = field(default_factory=dict[tuple[int, ...], str])


@dataclass(frozen=True, slots=True)
class SelectorVerdict:
    """What the search selects in a cell.

    Args:
        key: the cell.
        decisions: the selected layout's shared segments, ascending.
        labels: policies that produce the layout; none where the search left the mandatory family.
        features: of the selected layout.
        selected: label of the measured candidate that it is, None where no one has measured it.
        best: label of the fastest measured candidate.
        regret_pct: of the selected over the fastest, percent; None where it was not measured.
        automatic_regret_pct: of the timed automatic choice over the fastest; below zero where it was faster
            than every candidate, None where it was not timed.
    """

    key: str
    decisions: tuple[int, ...]
    labels: tuple[str, ...]
    features: LayoutFeatures
    selected: str | None
    best: str
    regret_pct: float | None
    automatic_regret_pct: float | None


@dataclass(frozen=True, slots=True)
class RegretSummary:
    """Regret over cells, percent."""

    cells: int
    mean_pct: float
    p95_pct: float
    max_pct: float


@dataclass(frozen=True, slots=True)
class Prospect:
    """A table fitted on earlier cells, judged by the real search on cells measured later.

    Args:
        table: the fitted table.
        verdicts: one a later cell.
        selected: regret over the cells whose selection was measured; None where none was.
        automatic: regret of the timed automatic choices; None where none was timed.
        unmeasured: keys of the cells whose selection no one has measured.
    """

    table: FittedTable
    verdicts: tuple[SelectorVerdict, ...]
    selected: RegretSummary | None
    automatic: RegretSummary | None
    unmeasured: tuple[str, ...]


def check_selector(
    cells: Sequence[SearchedCell], coefficients: Coefficients | None, *, refinement_budget: int | None = None
) -> tuple[SelectorVerdict, ...]:
    """Run the real search on every cell under a table, or under version 1 where there is none.

    Args:
        cells: what to search.
        coefficients: the integer table.
        refinement_budget: proposals of a bounded search; by default the search is the planner's own choice.
    """
    return tuple(_verdict(cell, coefficients, refinement_budget) for cell in cells)


def prospective_check(
    earlier: Sequence[FitCell], later: Sequence[SearchedCell], arguments: FitArguments
) -> Prospect:
    """Fit on earlier cells, and judge by the real search on later ones.

    Raises:
        InvalidInputError: a cell on both sides.
        IncompleteEvidenceError: nothing to fit on, or nothing measured later.
    """
    both = sorted({cell.key for cell in earlier} & {searched.cell.key for searched in later})
    if both:
        raise InvalidInputError(f"a later cell may not be fitted on, yet these are: {', '.join(both)}")
    if not later:
        raise IncompleteEvidenceError(
            "no cell was measured later; there is nothing to judge: let fewer cells be the earlier ones"
        )
    table = fit_table(earlier, arguments)
    verdicts = check_selector(later, table.coefficients)
    return Prospect(
        table=table,
        verdicts=verdicts,
        selected=_summary([v.regret_pct for v in verdicts if v.regret_pct is not None]),
        automatic=_summary([v.automatic_regret_pct for v in verdicts if v.automatic_regret_pct is not None]),
        unmeasured=tuple(v.key for v in verdicts if v.selected is None),
    )


def _verdict(
    searched: SearchedCell, coefficients: Coefficients | None, budget: int | None
) -> SelectorVerdict:
    found = select_layout(searched.tree, searched.cell.facts, coefficients, refinement_budget=budget)
    times = {candidate.label: candidate.median_ms for candidate in searched.cell.candidates}
    best = min(times, key=times.__getitem__)
    names = (*found.labels, searched.measured.get(found.decisions))
    selected = next((label for label in names if label in times), None)
    return SelectorVerdict(
        key=searched.cell.key,
        decisions=found.decisions,
        labels=found.labels,
        features=found.layout.features,
        selected=selected,
        best=best,
        regret_pct=None if selected is None else _above(times[selected], times[best]),
        automatic_regret_pct=_above(searched.automatic_ms, times[best]) if searched.automatic_ms else None,
    )


def _above(ms: float, best_ms: float) -> float:
    return (ms - best_ms) / best_ms * 100


def _summary(regrets: Sequence[float]) -> RegretSummary | None:
    if not regrets:
        return None
    return RegretSummary(len(regrets), sum(regrets) / len(regrets), percentile_95(regrets), max(regrets))
