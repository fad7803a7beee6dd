"""Non-negative least squares over pairs of candidates."""

# scipy ships no types
# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false

import numpy as np
from scipy.optimize import nnls

from fit._cells import Evidence, Floats
from fit._pairs import Pairs, pair_rows

LEAST_SCALE = 1e-12


def solve(rows: Floats, target: Floats) -> Floats:
    """Non-negative coefficients of least squared error, by the exact active set on scaled columns.

    Args:
        rows: (pairs, terms), at least one term.
        target: (pairs,).

    Returns:
        (terms,) coefficients; all zero where there is no row.
    """
    if not len(rows):
        return np.zeros(rows.shape[1])
    scale = np.maximum(np.abs(rows).max(axis=0), LEAST_SCALE)
    solution: Floats = nnls(rows / scale, target)[0]
    return solution / scale


def least_squares(evidence: Evidence, pairs: Pairs) -> Floats:
    """(terms,) coefficients in microseconds that explain the time differences best."""
    return solve(*pair_rows(evidence, pairs))
