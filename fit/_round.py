"""Rounding that leaves the selections where the real coefficients put them.

Rounding to the nearest integer can move a selection: on other real evidence it took the largest regret from
4.9% to 14%. So where the nearest integers select differently, each coefficient may be rounded up or down,
and the nearest of the tables that move the fewest selections is taken.
"""

import numpy as np

from fit._cells import Evidence, Floats, Indices, Ints, predict
from fit._keys import first_least, score_keys, whole

MOST_BOTH_WAYS = 10
TABLES_AT_ONCE = 64


def round_selections(evidence: Evidence, microseconds: Floats) -> Ints:
    """(terms,) integer milli-microseconds that select as the real coefficients do, as far as any do.

    Args:
        evidence: the training cells.
        microseconds: (terms,) real coefficients.
    """
    nearest = whole(microseconds)
    wanted = _real_selections(evidence, microseconds)
    if (first_least(evidence, score_keys(evidence, nearest)) == wanted).all():
        return nearest
    tables = _both_ways(microseconds * 1000)
    moved = np.concatenate(
        [
            (first_least(evidence, score_keys(evidence, some)) != wanted[:, None]).sum(axis=0)
            for some in np.split(tables, range(TABLES_AT_ONCE, tables.shape[1], TABLES_AT_ONCE), axis=1)
        ]
    )
    away = ((tables - (microseconds * 1000)[:, None]) ** 2).sum(axis=0)
    return tables[:, np.lexsort((away, moved))[0]]


def _real_selections(evidence: Evidence, microseconds: Floats) -> Indices:
    """(cells,) the candidate of least predicted time, ties as the production score breaks them."""
    predictions = predict(evidence.units, microseconds)
    return np.lexsort((evidence.ties, predictions, evidence.cell_of))[evidence.starts]


def _both_ways(milli: Floats) -> Ints:
    """(terms, tables) every rounding up or down; beyond ten coefficients the largest are only rounded."""
    down, up, nearest = np.floor(milli), np.ceil(milli), np.rint(milli)
    open_ = [int(place) for place in np.argsort(milli, kind="stable") if down[place] < up[place]]
    open_ = open_[:MOST_BOTH_WAYS]
    tables = np.repeat(nearest[:, None], 2 ** len(open_), axis=1)
    for bit, place in enumerate(open_):
        upwards = [number >> bit & 1 == 1 for number in range(tables.shape[1])]
        tables[place] = np.where(upwards, up[place], down[place])
    return tables.astype(np.int64)
