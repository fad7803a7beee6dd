"""The production score over many candidates at once: one exact integer each, compared within a cell."""

from collections.abc import Mapping

import numpy as np

from fit._cells import LARGEST_INT64, Evidence, Floats, Indices, Ints, integers
from planner import Coefficients, hand_set_work


def whole(microseconds: Floats) -> Indices:
    """Coefficients in microseconds as integer milli-microseconds, half to even."""
    return np.rint(microseconds * 1000).astype(np.int64)


def as_table(evidence: Evidence, milli_us: Ints) -> dict[str, int]:
    """A coefficient vector as a table by term name."""
    return {name: int(value) for name, value in zip(evidence.terms, milli_us, strict=True)}


def score_keys(evidence: Evidence, milli_us: Ints) -> Ints:
    """Integers that order the candidates of a cell exactly as their production scores do.

    Args:
        evidence: compiled cells.
        milli_us: (terms,) integer coefficients, or (terms, tables) for many tables at once.

    Returns:
        (candidates,) or (candidates, tables) of ``work * ranks + tie rank``: two of one cell are equal
        where their scores are. The works are in units of ``evidence.unit``, which divides them all.
    """
    values, milli_us = _in_range(evidence, milli_us)
    works = values @ milli_us
    return works * evidence.ranks + _beside(evidence.ties, works)


def trial_keys(evidence: Evidence, milli_us: Ints, coordinate: int, trials: Ints) -> Ints:
    """(candidates, trials) score keys of a table with one coefficient replaced by each trial.

    The same as ``score_keys`` of the replaced tables, in one column's work instead of all.
    """
    largest = milli_us.copy()
    largest[coordinate] = max(milli_us[coordinate], trials.max(initial=0))
    values, largest = _in_range(evidence, largest)
    base = values @ milli_us.astype(values.dtype)
    works = base[:, None] + values[:, coordinate, None] * (trials - milli_us[coordinate])
    return works * evidence.ranks + evidence.ties[:, None]


def _in_range(evidence: Evidence, milli_us: Ints) -> tuple[Ints, Ints]:
    """Values and coefficients as int64 where no key can pass it, else as Python integers."""
    tables = milli_us.reshape(len(milli_us), -1).max(axis=1)
    largest = sum(int(top) * int(value) for top, value in zip(evidence.largest, tables, strict=True))
    if (largest + 1) * evidence.ranks > LARGEST_INT64:
        return evidence.values.astype(object), milli_us.astype(object)
    return evidence.values, milli_us


def _beside(ties: Indices, keys: Ints) -> Indices:
    return ties.reshape((-1,) + (1,) * (keys.ndim - 1))


def hand_set_keys(evidence: Evidence) -> Ints:
    """The same under version 1, the hand-set score."""
    candidates = [(c, cell.facts) for cell in evidence.cells for c in cell.candidates]
    return integers(
        [
            hand_set_work(c.features, facts, c.shared_decisions) * evidence.ranks + int(tie)
            for (c, facts), tie in zip(candidates, evidence.ties, strict=True)
        ]
    )


def table_keys(evidence: Evidence, coefficients: Coefficients | None) -> Ints:
    """Score keys under a table by name, or under version 1 where there is none."""
    if coefficients is None:
        return hand_set_keys(evidence)
    return score_keys(evidence, as_vector(evidence, coefficients))


def as_vector(evidence: Evidence, coefficients: Mapping[str, int]) -> Ints:
    """A table by term name as a coefficient vector; a term that it does not use is free."""
    return integers([coefficients.get(name, 0) for name in evidence.terms])


def first_least(evidence: Evidence, keys: Ints) -> Indices:
    """(cells,) index of each cell's selected candidate: the first of the least key.

    Args:
        evidence: compiled cells.
        keys: (candidates,), or (candidates, tables) for many tables at once, giving (cells, tables).
    """
    least = np.minimum.reduceat(keys, evidence.starts, axis=0)[evidence.cell_of]
    places = _beside(np.arange(len(evidence.ms)), keys)
    return np.minimum.reduceat(np.where(keys == least, places, len(evidence.ms)), evidence.starts, axis=0)
