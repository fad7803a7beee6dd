"""Whether a selection survives: by how much the table prefers it, against rounding and against noise."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fit._cells import Evidence, FitCell, Floats, Ints, check_terms, compile_cells
from fit._keys import as_vector, first_least, score_keys
from fit._pairs import SEPARATION_PCT, difference_noise_pct
from planner import WORK_PER_US, Coefficients

HALF = 0.5


@dataclass(frozen=True, slots=True)
class Survival:
    """How firmly a table selects in one cell, against the rival that it comes closest to taking instead.

    A rival is a candidate that was measured slower than the selected one by more than a tie.

    Args:
        key: the cell.
        selected: label of the selected candidate.
        rival: label of the closest rival; None where nothing slower is there to be taken.
        lead_pct: how much more the rival is predicted to take, percent of the selected one's measured time.
        noise_pct: two standard errors of the difference of the two medians, percent.
        rounding_pct: what half an integer in every coefficient can move the lead by.
    """

    key: str
    selected: str
    rival: str | None
    lead_pct: float
    noise_pct: float
    rounding_pct: float

    @property
    def rounding_survives(self) -> bool:
        """Whether no rounding of the coefficients takes the rival."""
        return self.lead_pct > self.rounding_pct

    @property
    def noise_survives(self) -> bool:
        """Whether the predicted lead exceeds the noise that it was learned under."""
        return self.lead_pct > self.noise_pct


def selection_survival(cells: Sequence[FitCell], coefficients: Coefficients) -> tuple[Survival, ...]:
    """How firmly an integer table selects in each cell, in cell order.

    Raises:
        InvalidInputError: no cell, or a table with an unknown term.
    """
    check_terms(tuple(coefficients))
    evidence = compile_cells(cells, tuple(coefficients))
    vector = as_vector(evidence, coefficients)
    selected = first_least(evidence, score_keys(evidence, vector))
    predicted = _predicted_ms(evidence, vector)
    starts = [*evidence.starts.tolist(), len(evidence.ms)]
    return tuple(
        _survival(evidence, place, predicted, starts[place : place + 2], int(chosen))
        for place, chosen in enumerate(selected)
    )


def _predicted_ms(evidence: Evidence, vector: Ints) -> Floats:
    """(candidates,) predicted milliseconds; a table prices differences, so a common part may be missing."""
    works = evidence.values.astype(np.float64) @ vector.astype(np.float64)
    return works * (evidence.unit / WORK_PER_US / 1e6)


def _survival(evidence: Evidence, place: int, predicted: Floats, bounds: list[int], chosen: int) -> Survival:
    cell, (start, end) = evidence.cells[place], bounds
    taken = cell.candidates[chosen - start]
    rivals = [other for other in range(start, end) if _above(evidence.ms, other, chosen) > SEPARATION_PCT]
    if not rivals:
        return Survival(cell.key, taken.label, None, float("inf"), 0.0, 0.0)
    closest = min(rivals, key=lambda other: float(predicted[other]))
    rival = cell.candidates[closest - start]
    moved = int(np.abs(evidence.values[closest] - evidence.values[chosen]).sum()) * evidence.unit
    percent = 100 / taken.median_ms
    return Survival(
        key=cell.key,
        selected=taken.label,
        rival=rival.label,
        lead_pct=float(predicted[closest] - predicted[chosen]) * percent,
        noise_pct=difference_noise_pct(taken, rival),
        rounding_pct=HALF * moved / WORK_PER_US / 1e6 * percent,
    )


def _above(ms: Floats, other: int, chosen: int) -> float:
    return float(ms[other] / ms[chosen] - 1) * 100
