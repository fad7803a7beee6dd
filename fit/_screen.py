"""Which terms stay: one goes when cells that the fit has not seen are clearly better off without it.

Each cell is left out in turn (PRESS; Allen 1974) with the support and the weights of the full fit held, so
that a whole round is one batch of small linear systems. A term goes when the summed error of the left-out
cells falls by more than two standard errors of that fall. The opposite rule, by which a term must earn its
place, was tried on simulated devices and drops the terms of shapes that few cells were measured on: regrets
above 100% follow, where keeping them costs nothing.
"""

import numpy as np

from fit._cells import Floats
from fit._margin import RIDGE, Margins

LEAST_CELLS = 8
CLEAR_SIGMAS = 2.0
JITTER = 1e-9


def screen(problem: Margins) -> list[int]:
    """The columns that stay, ascending."""
    grams, pulls, squares = _by_cell(problem)
    kept = [column for column in range(problem.rows.shape[1]) if problem.scale[column] > 0]
    if len(squares) < LEAST_CELLS:
        return kept

    def left_out(columns: list[int]) -> Floats:
        support = np.flatnonzero(problem.solve(columns)).tolist()
        return _left_out_errors(grams, pulls, squares, support)

    errors = left_out(kept)
    while len(kept) > 1:
        trials = [[column for column in kept if column != gone] for gone in kept]
        found = [left_out(trial) for trial in trials]
        best = int(np.argmin([trial.sum() for trial in found]))
        fall = errors - found[best]
        if fall.sum() <= CLEAR_SIGMAS * fall.std(ddof=1) * np.sqrt(len(fall)):
            return kept
        kept, errors = trials[best], found[best]
    return kept


def _by_cell(problem: Margins) -> tuple[Floats, Floats, Floats]:
    """Each cell's part of the normal equations; a cell without pairs has none."""
    starts = np.flatnonzero(np.diff(problem.pairs.cell, prepend=-1))
    rows = np.split(problem.rows, starts[1:])
    targets = np.split(problem.target, starts[1:])
    grams = np.array([part.T @ part for part in rows])
    pulls = np.array([part.T @ goal for part, goal in zip(rows, targets, strict=True)])
    return grams, pulls, np.array([goal @ goal for goal in targets])


def _left_out_errors(grams: Floats, pulls: Floats, squares: Floats, support: list[int]) -> Floats:
    """(cells,) squared error of each cell under the coefficients of all the others."""
    if not support:
        return squares
    own, pull = grams[:, support][:, :, support], pulls[:, support]
    rest = own.sum(axis=0) - own + (RIDGE + JITTER) * np.eye(len(support))
    free = np.asarray(np.linalg.solve(rest, (pull.sum(axis=0) - pull)[:, :, None]), dtype=np.float64)
    found = np.maximum(free[:, :, 0], 0.0)
    bent = np.einsum("ci,cij,cj->c", found, own, found)
    return squares - 2 * (pull * found).sum(axis=1) + bent
