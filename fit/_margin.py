"""Least squares on margins: what a table must get right is the order of close layouts, not their times.

A table that predicts the difference p of two layouts whose measured difference is d (both relative to their
mean time) orders them wrong where p / d < 0. The squared margin error (1 - p / d)^2 = (d - p)^2 / d^2 is a
convex surrogate of that, and needs no scale. Left alone it would chase pairs that are no order at all; so
d^2 gets a floor of what cannot be told apart: the separation below which two times are a tie, the noise of
the two medians, and the model's own error, estimated from the fit's residuals. The latter two come from the
evidence itself, so that nothing is to be set by hand for a device.

Plain least squares asks for small errors everywhere and spends its few coefficients on pairs that lie far
apart; the search for least training regret learns the cells by heart. This lies between the two.
"""

from dataclasses import dataclass

import numpy as np

from fit._cells import Evidence, Floats
from fit._pairs import NOISE_SIGMAS, SEPARATION_PCT, Pairs, pair_noise_pct, pairs_a_cell, within_cells
from fit._squares import solve

RIDGE = 1e-2
"""Share of a column's own square by which its coefficient is held back. It decides where the evidence
hardly tells two terms apart and the bare active set drops one of them at will: with one cell on a parallel
shape that doubled the time of others on it. From 0.001 to 0.02 little else moves."""
FIRST_MODEL_ERROR = 0.1
ROUNDS = 3
MOST_NOISE = 1.0


@dataclass(frozen=True, slots=True)
class Margins:
    """The weighted problem: rows of the pairs, scaled to unit columns.

    Args:
        rows: (pairs, terms) weighted, scaled differences of the terms.
        target: (pairs,) weighted relative differences of the times.
        triangle: (at most terms + 1, terms + 1) of rows and target; it has the same least squares.
        scale: (terms,) what a coefficient of the scaled rows is multiplied by to be in microseconds.
        pairs: the pairs.
    """

    rows: Floats
    target: Floats
    triangle: Floats
    scale: Floats
    pairs: Pairs

    def solve(self, columns: list[int]) -> Floats:
        """(terms,) coefficients in microseconds over the columns; the others are zero."""
        if not columns:
            return np.zeros(len(self.scale))
        held = np.sqrt(RIDGE) * np.eye(len(columns))
        rows = np.vstack([self.triangle[:, columns], held])
        found = solve(rows, np.concatenate([self.triangle[:, -1], np.zeros(len(columns))]))
        coefficients = np.zeros(len(self.scale))
        coefficients[columns] = found
        return coefficients * self.scale


def margins(evidence: Evidence) -> Margins:
    """The problem with the model's error estimated: solve, look at the residuals, weigh anew."""
    pairs = within_cells(evidence)
    a, b = evidence.ms[pairs.first], evidence.ms[pairs.second]
    mean = 0.5 * (a + b)
    differences = (a - b) / mean
    units = evidence.units
    rows = (units[pairs.first] - units[pairs.second]) / (1000.0 * mean)[:, None]
    noise = np.minimum(pair_noise_pct(evidence, pairs) / NOISE_SIGMAS / 100, MOST_NOISE)
    known = differences**2 + noise**2 + (SEPARATION_PCT / 100) ** 2
    share = 1.0 / pairs_a_cell(evidence, pairs)
    columns = list(range(rows.shape[1]))
    error = FIRST_MODEL_ERROR
    for _ in range(ROUNDS):
        problem = _weighted(rows, differences, share / (known + error**2), pairs)
        residuals = differences - rows @ problem.solve(columns)
        error = float(np.sqrt((share * residuals**2).sum() / share.sum()))
    return _weighted(rows, differences, share / (known + error**2), pairs)


def _weighted(rows: Floats, target: Floats, weight: Floats, pairs: Pairs) -> Margins:
    root = np.sqrt(weight)
    weighted = rows * root[:, None]
    size = np.sqrt((weighted**2).sum(axis=0))
    scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    rows, target = weighted * scale, target * root
    triangle = np.asarray(np.linalg.qr(np.column_stack([rows, target]), mode="r"), dtype=np.float64)
    return Margins(rows, target, triangle, scale, pairs)
