"""A method judged on cells that its tables were not fitted on."""

from collections.abc import Sequence

import numpy as np

from fit._cells import Evidence, Indices, take
from fit._judge import CellVerdict, cell_verdicts, summarize
from fit._keys import as_vector, first_least, score_keys
from fit._methods import fit_evidence
from fit._pairs import ordered_pairs, right_order
from schemas import Metrics

Apart = tuple[list[int], list[int]]
"""Places of the cells that are judged, and of those that their table is fitted on."""


def judge_apart(
    evidence: Evidence, method: str, parts: Sequence[Apart]
) -> tuple[Metrics, tuple[CellVerdict, ...]]:
    """Fit once a part, judge its cells under that table.

    Args:
        evidence: compiled cells.
        method: a name out of ``METHODS``.
        parts: at least one; a cell may be judged in one of them.

    Returns:
        metrics over the judged cells, and each one's selection in cell order.
    """
    pairs = ordered_pairs(evidence)
    selected = np.zeros(len(evidence.cells), dtype=np.int64)
    count = right = 0
    for judged, fitted in parts:
        table = fit_evidence(take(evidence, fitted), method).coefficients
        keys = score_keys(evidence, as_vector(evidence, table))
        selected[judged] = first_least(evidence, keys)[judged]
        inside = pairs.only(np.isin(pairs.cell, judged))
        count += len(inside)
        right += int(right_order(evidence, inside, keys).sum())
    places = sorted(place for judged, _ in parts for place in judged)
    verdicts = cell_verdicts(take(evidence, places), _within(evidence, places, selected))
    return summarize(verdicts, count, right), verdicts


def _within(evidence: Evidence, places: list[int], selected: Indices) -> Indices:
    """Indices of candidates over all cells as indices over those of the cells at some places."""
    return selected[places] - evidence.starts[places] + take(evidence, places).starts
