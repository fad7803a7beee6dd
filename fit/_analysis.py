"""How well a fitted table is known: regrets on unseen cells, ablations, intervals; all from refits.

No table here is fitted on a held-out cell. A training cell is judged by a table that was fitted without it
and the others of its fold, a held-out cell by the table of all training cells; the ablations withhold a term,
a parallel shape, a model or a family (design, section 8). There are some two hundred refits, however many
cells there are.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from fit._apart import Apart, judge_apart
from fit._cells import Evidence, FitCell, compile_cells, take
from fit._compare import REPLICATES, coefficient_intervals
from fit._intervals import Interval
from fit._judge import GROUPS, CellVerdict
from fit._methods import can_fit
from schemas import FitArguments, Metrics

FOLDS = 5
"""Most parts that the training cells are divided into; as many cells or fewer are left out one by one."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """Cells judged by tables that had not seen them.

    Args:
        kind: what was withheld beside the cells: ``nothing``, ``term``, ``shape``, ``model``, ``family``.
        name: which term or group; empty for nothing.
        metrics: over the judged cells.
        verdicts: each one's selection, in cell order.
    """

    kind: str
    name: str
    metrics: Metrics
    verdicts: tuple[CellVerdict, ...]

    @property
    def summed_regret_pct(self) -> float:
        """Over the judged cells."""
        return float(sum(verdict.regret_pct for verdict in self.verdicts))


@dataclass(frozen=True, slots=True)
class Analysis:
    """How well a table is known.

    Args:
        folds: into how many parts the training cells were divided.
        resamples: fits behind the intervals.
        intervals: each coefficient with its interval over resampled training cells, milli-microseconds.
        unseen: what was judged, nothing withheld first; empty where too few cells are there to leave one out.
    """

    folds: int
    resamples: int
    intervals: Mapping[str, Interval]
    unseen: tuple[Unseen, ...]


def analyse(
    cells: Sequence[FitCell],
    arguments: FitArguments,
    used: Collection[str],
    *,
    held_out: Collection[str],
    resamples: int = REPLICATES,
) -> Analysis:
    """Refit to see how well a table is known; the same cells in the same order give the same numbers.

    Args:
        cells: all retained cells, at least one of them not held out.
        arguments: of the fit.
        used: the terms that its table uses: those are withheld in turn.
        held_out: keys of the cells that no table is fitted on.
        resamples: how many draws of the training cells the intervals rest on.

    Raises:
        InvalidInputError: an unknown method or term.
        IncompleteEvidenceError: no training cell has two candidates.
    """
    method = arguments.method
    evidence = compile_cells(cells, arguments.terms)
    training = [place for place, cell in enumerate(cells) if cell.key not in held_out]
    held = [place for place, cell in enumerate(cells) if cell.key in held_out]
    folds = min(len(training), FOLDS)
    parts = _fittable(evidence, _fold_parts(training, held, folds))
    unseen: list[Unseen] = []
    if parts:
        unseen.append(Unseen("nothing", "", *judge_apart(evidence, method, parts)))
        for term in arguments.terms:
            others = [name for name in arguments.terms if name != term]
            if term in used and others:
                without = compile_cells(cells, others)
                unseen.append(Unseen("term", term, *judge_apart(without, method, parts)))
    for grouping in GROUPS:
        unseen += _without_groups(evidence, method, training, grouping)
    return Analysis(
        folds=folds,
        resamples=resamples,
        intervals=coefficient_intervals(take(evidence, training), method, resamples),
        unseen=tuple(unseen),
    )


def _fold_parts(training: list[int], held: list[int], folds: int) -> list[Apart]:
    """Each fold apart from the other training cells, and the held-out cells apart from all of those."""
    members = [training[fold::folds] for fold in range(folds)]
    parts = [(fold, sorted(set(training) - set(fold))) for fold in members]
    return [*parts, (held, training)] if held else parts


def _without_groups(evidence: Evidence, method: str, training: list[int], grouping: str) -> list[Unseen]:
    """Each group's cells, held-out ones too, under a table fitted on the training cells outside of it."""
    name_of = GROUPS[grouping]
    groups: dict[str, list[int]] = {}
    for place, cell in enumerate(evidence.cells):
        groups.setdefault(name_of(cell), []).append(place)
    found: list[Unseen] = []
    for name in sorted(groups):
        rest = [place for place in training if place not in groups[name]]
        for part in _fittable(evidence, [(groups[name], rest)]):
            found.append(Unseen(grouping, name, *judge_apart(evidence, method, [part])))
    return found


def _fittable(evidence: Evidence, parts: Sequence[Apart]) -> list[Apart]:
    """The parts that a table can be fitted for; the cells of others stay unjudged."""
    return [part for part in parts if can_fit(evidence, part[1])]
