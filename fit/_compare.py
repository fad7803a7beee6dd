"""Methods side by side: what each gives on its training cells, on held-out ones, and on cells left out.

Leaving out one cell, one parallel shape, one model or one family at a time shows how a method does where it
has not measured; the intervals show what another draw of cells might have given.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from fit._apart import judge_apart
from fit._cells import Evidence, FitCell, compile_cells, take
from fit._intervals import Interval, interval, mean_interval, resamples
from fit._judge import GROUPS, CellVerdict, metrics
from fit._keys import as_vector, score_keys
from fit._methods import METHODS, FittedTable, can_fit, check_arguments, fit_evidence
from schemas import FitArguments, IncompleteEvidenceError, Metrics

LEFT_OUT = ("cell", *GROUPS)
"""What is left out at a time, by name."""
REPLICATES = 100
REGRET_REPLICATES = 1000


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A method judged on cells that its tables had not seen.

    Args:
        groups: how many fits were made, each without one group of cells.
        metrics: over all cells, each under the table that was fitted without its group.
        summed_regret_pct: over all cells.
        mean_regret_pct: per cell, with its interval over resampled cells.
        verdicts: each cell's selection, in cell order.
    """

    groups: int
    metrics: Metrics
    summed_regret_pct: float
    mean_regret_pct: Interval
    verdicts: tuple[CellVerdict, ...]


@dataclass(frozen=True, slots=True)
class MethodReport:
    """One method's column of a comparison.

    Args:
        method: its name.
        table: fitted on the training cells.
        train: the table on the cells that it was fitted on.
        holdout: the table on the held-out cells; None where there are none.
        left_out: by ``cell``, ``model``, ``shape`` and ``family``; a grouping of one group is absent.
        coefficients: the table's coefficients in milli-microseconds, with intervals over resampled cells.
    """

    method: str
    table: FittedTable
    train: Metrics
    holdout: Metrics | None
    left_out: Mapping[str, LeftOut]
    coefficients: Mapping[str, Interval]


def compare(
    cells: Sequence[FitCell],
    terms: Sequence[str],
    *,
    held_out: Collection[str] = (),
    methods: Sequence[str] = tuple(METHODS),
    replicates: int = REPLICATES,
) -> tuple[MethodReport, ...]:
    """Fit and judge every method on the same cells.

    Args:
        cells: all retained cells; the leave-outs go over all of them.
        terms: what the tables may use.
        held_out: keys of the cells that the table itself is not fitted on.
        methods: names out of ``METHODS``.
        replicates: resamples of the training cells for the coefficients' intervals.

    Raises:
        InvalidInputError: an unknown method or term.
        IncompleteEvidenceError: fewer than two cells, or none to train on.
    """
    for method in methods:
        check_arguments(FitArguments(method=method, terms=tuple(terms)))
    training = [place for place, cell in enumerate(cells) if cell.key not in held_out]
    if len(cells) < 2 or not training:
        raise IncompleteEvidenceError(
            f"a comparison needs two cells and one of them to train on; there are {len(cells)}, "
            f"{len(training)} not held out"
        )
    evidence = compile_cells(cells, terms)
    return tuple(_report(evidence, method, training, replicates) for method in methods)


def leave_out(evidence: Evidence, method: str, grouping: str) -> LeftOut:
    """Judge a method by leaving out one group of cells at a time.

    Args:
        evidence: compiled cells, at least two groups of them.
        method: a name out of ``METHODS``.
        grouping: one of ``LEFT_OUT``.
    """
    every = set(range(len(evidence.cells)))
    groups = _places_by_group(evidence.cells, grouping)
    found, verdicts = judge_apart(evidence, method, [(group, sorted(every - set(group))) for group in groups])
    regrets = [verdict.regret_pct for verdict in verdicts]
    return LeftOut(
        groups=len(groups),
        metrics=found,
        summed_regret_pct=float(sum(regrets)),
        mean_regret_pct=mean_interval(regrets, resamples(len(regrets), REGRET_REPLICATES)),
        verdicts=verdicts,
    )


def coefficient_intervals(
    evidence: Evidence, method: str, replicates: int = REPLICATES
) -> dict[str, Interval]:
    """Each coefficient of a method's table with its interval over resampled cells, milli-microseconds.

    A resample in which no cell has two candidates gives no table and counts for nothing.
    """
    fitted = fit_evidence(evidence, method)
    drawn = [
        fit_evidence(take(evidence, draw), method).coefficients
        for draw in resamples(len(evidence.cells), replicates)
        if can_fit(evidence, draw)
    ]
    return {
        term: interval(
            float(fitted.coefficients.get(term, 0)), [float(table.get(term, 0)) for table in drawn]
        )
        for term in evidence.terms
    }


def ablate_terms(cells: Sequence[FitCell], terms: Sequence[str], method: str) -> dict[str, LeftOut]:
    """Judge a method without each of its terms in turn, leaving out one cell at a time.

    Returns:
        by term, what the left-out cells look like when the table cannot use it.
    """
    check_arguments(FitArguments(method=method, terms=tuple(terms)))
    return {
        term: leave_out(compile_cells(cells, [name for name in terms if name != term]), method, "cell")
        for term in terms
        if len(terms) > 1
    }


def _report(evidence: Evidence, method: str, training: list[int], replicates: int) -> MethodReport:
    seen = take(evidence, training)
    unseen = sorted(set(range(len(evidence.cells))) - set(training))
    table = fit_evidence(seen, method)
    vector = as_vector(evidence, table.coefficients)
    return MethodReport(
        method=method,
        table=table,
        train=metrics(seen, score_keys(seen, vector)),
        holdout=metrics(held := take(evidence, unseen), score_keys(held, vector)) if unseen else None,
        left_out={
            grouping: leave_out(evidence, method, grouping)
            for grouping in LEFT_OUT
            if len(_places_by_group(evidence.cells, grouping)) > 1
        },
        coefficients=coefficient_intervals(seen, method, replicates),
    )


def _places_by_group(cells: Sequence[FitCell], grouping: str) -> list[list[int]]:
    """Places of the cells of each group, groups in ascending order of name."""
    if grouping == "cell":
        return [[place] for place in range(len(cells))]
    name_of = GROUPS[grouping]
    names = sorted({name_of(cell) for cell in cells})
    return [[place for place, cell in enumerate(cells) if name_of(cell) == name] for name in names]
