"""Two measurements of the same cells: what moved beyond noise, and which selections would change.

The noise is what was seen within the attempts. A machine that runs another day differs by more than that, so
a shift of everything alike (`Drift.overall_pct`) says less than what moved against the rest.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt

# scipy ships no types
from scipy.special import stdtr  # pyright: ignore[reportMissingTypeStubs]

from fit._cells import FitCandidate, FitCell
from fit._judge import judge_cells
from fit._noise import error_freedom, median_error_pct
from fit._pairs import NOISE_SIGMAS, SEPARATION_PCT, difference_noise_pct
from planner import Coefficients
from schemas import IncompleteEvidenceError


@dataclass(frozen=True, slots=True)
class Move:
    """A time measured twice.

    Args:
        name: the candidate's label, or the cell's key.
        change_pct: the later over the earlier, percent above it.
        noise_pct: two standard errors of the ratio, percent; infinite where one sample tells no spread.
        chance: how probable it is that noise alone flags it (Student's t; spreads of few samples are rough).
    """

    name: str
    change_pct: float
    noise_pct: float
    chance: float

    @property
    def moved(self) -> bool:
        """Whether the two lie further apart than a tie and than their noise."""
        return _apart_pct(self.change_pct) > _threshold_pct(self.noise_pct)


@dataclass(frozen=True, slots=True)
class CellMove:
    """A cell measured twice.

    Args:
        cell: the geometric mean of its candidates, as one time.
        candidates: each of the candidates that both sides measured, in label order.
        unmatched: labels that one side lacks, or under which the sides measured different layouts.
    """

    cell: Move
    candidates: tuple[Move, ...]
    unmatched: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drift:
    """All cells measured twice.

    Args:
        cells: those that share at least one candidate, in key order.
        overall_pct: median change over the cells, percent.
    """

    cells: tuple[CellMove, ...]
    overall_pct: float

    @property
    def moved(self) -> tuple[CellMove, ...]:
        """The cells that moved, the farthest first."""
        flagged = [each for each in self.cells if each.cell.moved]
        return tuple(sorted(flagged, key=lambda each: -_apart_pct(each.cell.change_pct)))

    @property
    def cells_by_chance(self) -> float:
        """How many cells noise alone would flag on average, at most: medians of few samples are surer."""
        return sum(each.cell.chance for each in self.cells)

    @property
    def candidates_by_chance(self) -> float:
        """How many candidates noise alone would flag on average, at most."""
        return sum(move.chance for each in self.cells for move in each.candidates)

    @property
    def candidates_moved(self) -> int:
        """How many candidates moved."""
        return sum(move.moved for each in self.cells for move in each.candidates)


@dataclass(frozen=True, slots=True)
class SelectionChange:
    """A cell in which another candidate would be taken.

    Args:
        key: the cell.
        before: label of what was taken.
        after: label of what would be taken now.
        cost_pct: how much slower the former is than the latter on the later evidence, percent.
        noise_pct: two standard errors of that difference.
    """

    key: str
    before: str
    after: str
    cost_pct: float
    noise_pct: float

    @property
    def beyond_noise(self) -> bool:
        """Whether the two can be told apart on the later evidence."""
        return _apart_pct(self.cost_pct) > _threshold_pct(self.noise_pct)


def compare_times(before: Sequence[FitCell], after: Sequence[FitCell]) -> Drift:
    """What moved between two measurements, over the cells that both have.

    Raises:
        IncompleteEvidenceError: no cell with a candidate that both measured.
    """
    earlier = {cell.key: cell for cell in before}
    pairs = [(earlier[cell.key], cell) for cell in after if cell.key in earlier]
    moves = [_cell_move(old, new) for old, new in sorted(pairs, key=lambda pair: pair[1].key)]
    cells = tuple(each for each in moves if each.candidates)
    if not cells:
        raise IncompleteEvidenceError(
            "the two campaigns have no cell in common with a layout that both measured; "
            "drift compares cells of the same key"
        )
    return Drift(cells, statistics.median(each.cell.change_pct for each in cells))


def changed_winners(before: Sequence[FitCell], after: Sequence[FitCell]) -> tuple[SelectionChange, ...]:
    """The cells whose fastest candidate is another one, in key order."""
    return _changes(after, _fastest(before), _fastest(after))


def changed_selections(
    after: Sequence[FitCell], old: Coefficients | None, new: Coefficients | None
) -> tuple[SelectionChange, ...]:
    """The cells in which two tables take different candidates, judged on the later evidence.

    Args:
        after: the later evidence.
        old: the earlier table; None is version 1.
        new: the later table.
    """
    taken = [{verdict.key: verdict.selected for verdict in judge_cells(after, each)} for each in (old, new)]
    return _changes(after, *taken)


def _cell_move(before: FitCell, after: FitCell) -> CellMove:
    earlier = {candidate.label: candidate for candidate in before.candidates}
    common = [
        (earlier[candidate.label], candidate)
        for candidate in after.candidates
        if candidate.label in earlier and earlier[candidate.label].features == candidate.features
    ]
    matched = {new.label for _, new in common}
    labels = {candidate.label for cell in (before, after) for candidate in cell.candidates}
    ratios = [log(new.median_ms / old.median_ms) for old, new in common]
    mean = exp(sum(ratios) / len(ratios)) if ratios else 1.0
    return CellMove(
        cell=_move(after.key, mean, [each for pair in common for each in pair], len(common)),
        candidates=tuple(
            _move(new.label, new.median_ms / old.median_ms, (old, new), 1) for old, new in common
        ),
        unmatched=tuple(sorted(labels - matched)),
    )


def _move(name: str, ratio: float, measured: Sequence[FitCandidate], over: int) -> Move:
    """A ratio whose logarithm is a mean ``over`` so many candidates, with the noise of all their medians."""
    errors = [median_error_pct(each.n, each.spread_pct) for each in measured]
    error = sqrt(sum(each**2 for each in errors)) / max(over, 1)
    noise = NOISE_SIGMAS * error
    return Move(name, (ratio - 1) * 100, noise, chance_of(error, _freedom(measured, errors)))


def _freedom(measured: Sequence[FitCandidate], errors: Sequence[float]) -> float:
    """Degrees of freedom of a sum of variances (Welch 1947, Satterthwaite 1946)."""
    fourth = sum(
        error**4 / error_freedom(each.n) for error, each in zip(errors, measured, strict=True) if each.n > 1
    )
    return sum(error**2 for error in errors) ** 2 / fourth if fourth else inf


def chance_of(error_pct: float, freedom: float) -> float:
    """How probable it is that two equal times are flagged as moved.

    Args:
        error_pct: standard error of their ratio, percent.
        freedom: degrees of freedom that the error was estimated with.
    """
    if error_pct in (0.0, inf) or freedom <= 0:
        return 0.0
    return float(2 * stdtr(freedom, -_threshold_pct(NOISE_SIGMAS * error_pct) / error_pct))


def _threshold_pct(noise_pct: float) -> float:
    return max(SEPARATION_PCT, noise_pct)


def _apart_pct(change_pct: float) -> float:
    """How far the slower lies above the faster, percent, as separations of pairs are counted."""
    return change_pct if change_pct >= 0 else 100 * -change_pct / (100 + change_pct)


def _fastest(cells: Sequence[FitCell]) -> dict[str, str]:
    return {
        cell.key: min(cell.candidates, key=lambda each: (each.median_ms, each.label)).label for cell in cells
    }


def _changes(
    after: Sequence[FitCell], old: Mapping[str, str], new: Mapping[str, str]
) -> tuple[SelectionChange, ...]:
    found: list[SelectionChange] = []
    for cell in sorted(after, key=lambda cell: cell.key):
        measured = {candidate.label: candidate for candidate in cell.candidates}
        former, latter = measured.get(old.get(cell.key, "")), measured[new[cell.key]]
        if former is None or former.label == latter.label:
            continue
        cost = (former.median_ms / latter.median_ms - 1) * 100
        noise = difference_noise_pct(former, latter)
        found.append(SelectionChange(cell.key, former.label, latter.label, cost, noise))
    return tuple(found)
