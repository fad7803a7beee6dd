"""Coordinate search from the least-squares solution towards the least regret of the training cells.

A table counts by the worse of two losses: that of its real coefficients and that of its integers under the
production score. The published procedure looks at the first alone and rounds at the end. Looking at the
second alone is no better: on the H200 evidence it prefers a table at half the scale for which one pair in
2,960 happens to be rounded right, and no move of the real coefficients betters anything. A move that
counts both ways owes nothing to rounding, and the published table comes out exactly.
"""

from dataclasses import dataclass

import numpy as np

from fit._cells import Evidence, Floats, Ints, predict
from fit._keys import first_least, trial_keys, whole
from fit._pairs import Pairs, count_right, ordered_pairs

FACTORS = (0.25, 0.5, 0.8, 1.25, 2.0, 4.0)
FLOOR_FACTORS = (1.0, 10.0, 100.0, 1000.0)
FLOOR_OF_START = 1e-3
SCALES = (1.0, 0.5, 2.0)
LEAST_GAIN = 1e-9
MOST_SWEEPS = 12
MISORDER_WEIGHT = 0.05


@dataclass(frozen=True, slots=True)
class RegretLoss:
    """Summed regret of the selections, percent, and a little for pairs ordered wrong."""

    evidence: Evidence
    pairs: Pairs

    @classmethod
    def of(cls, evidence: Evidence) -> "RegretLoss":
        """The loss over these cells and their ordered pairs."""
        return cls(evidence, ordered_pairs(evidence))

    def __call__(self, keys: Ints, below: float = np.inf) -> Floats:
        """(tables,) losses of (candidates, tables) score keys or predicted times.

        A table whose regret alone is no less than ``below`` gets that regret: its pairs are not looked at.
        """
        loss = self.evidence.regret[first_least(self.evidence, keys)].sum(axis=0)
        open_ = np.flatnonzero(loss < below)
        if len(self.pairs) and len(open_):
            accuracy = count_right(self.evidence, self.pairs, keys[:, open_]) / len(self.pairs)
            loss[open_] += MISORDER_WEIGHT * (1.0 - accuracy) * 100
        return loss


def refine(loss: RegretLoss, start: Floats) -> tuple[Floats, float]:
    """The best coefficients that six coordinate searches from ``start`` reach.

    Args:
        loss: what to lower.
        start: (terms,) coefficients in microseconds.

    Returns:
        (terms,) coefficients in microseconds and the loss of their integers; ties go to the earlier search.
    """
    positive = start[start > 0]
    floor = float(positive.min()) * FLOOR_OF_START if len(positive) else FLOOR_OF_START
    forward = tuple(range(len(start)))
    best, best_loss = start, np.inf
    for scale in SCALES:
        for order in (forward, forward[::-1]):
            search = _Search(loss, start * scale, floor)
            search.run(order)
            if search.best_loss < best_loss:
                best, best_loss = search.best, search.best_loss
    return best, float(best_loss)


class _Search:
    """One coordinate search: its best vector so far, the vector's works, and its loss."""

    def __init__(self, loss: RegretLoss, start: Floats, floor: float) -> None:
        self.loss = loss
        self.floor = floor
        self.best = start.copy()
        self.best_loss = np.inf
        self.units = loss.evidence.units
        self.best_loss = float(self._losses(0, self.best[:1])[0])

    def run(self, order: tuple[int, ...]) -> None:
        """Sweep the coordinates until each has had its turn since the last gain."""
        idle = 0
        for coordinate in order * MOST_SWEEPS:
            before = self.best_loss
            self._turn(coordinate)
            idle = idle + 1 if self.best_loss == before else 0
            if idle == len(order):
                return

    def _turn(self, coordinate: int) -> None:
        trials = self._trials(float(self.best[coordinate]))
        for trial, loss in zip(trials, self._losses(coordinate, trials), strict=True):
            if loss < self.best_loss - LEAST_GAIN:
                self.best[coordinate] = trial
                self.best_loss = float(loss)

    def _trials(self, current: float) -> Floats:
        """Values to try, fixed when the coordinate's turn begins."""
        scaled = [current * factor for factor in FACTORS] if current > 0 else []
        entries = [self.floor * factor for factor in FLOOR_FACTORS] if current == 0 else []
        return np.array([value for value in [*scaled, 0.0, *entries] if value != current])

    def _losses(self, coordinate: int, trials: Floats) -> Floats:
        """Losses of the best vector with one coordinate replaced by each trial.

        Exact where below the best so far; what cannot be accepted is only known to be no better.
        """
        evidence, below = self.loss.evidence, self.best_loss - LEAST_GAIN
        others = self.best.copy()
        others[coordinate] = 0.0
        predictions = predict(self.units, others)[:, None] + self.units[:, coordinate, None] * trials
        losses = self.loss(predictions, below)
        hopeful = np.flatnonzero(losses < below)
        if len(hopeful):
            keys = trial_keys(evidence, whole(self.best), coordinate, whole(trials[hopeful]))
            losses[hopeful] = np.maximum(losses[hopeful], self.loss(keys, below))
        return losses
