"""What the figures are drawn from: plain values, wherever they come from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PredictedPoint:
    """A candidate against the fastest of its cell.

    Args:
        label: the candidate.
        measured_pct: how far it was measured above the cell's fastest, percent of that one's time.
        predicted_pct: the same as the table prices it.
    """

    label: str
    measured_pct: float
    predicted_pct: float


@dataclass(frozen=True, slots=True)
class PredictedCell:
    """A cell's candidates; whether the table was kept from it."""

    cell: str
    held_out: bool
    points: Sequence[PredictedPoint]


@dataclass(frozen=True, slots=True)
class RegretRow:
    """A cell's regrets, percent, by the name of the table; None where there is none.

    Args:
        noise_pct: below this the cell's own noise hides a difference; None where unknown.
    """

    cell: str
    held_out: bool
    noise_pct: float | None
    regrets: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class CoefficientRow:
    """A coefficient with its interval, milli-microseconds; low and high None where it was not resampled."""

    term: str
    value: int
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class TermsRow:
    """The predicted time of a cell's selection by term, microseconds, and what was measured."""

    cell: str
    terms: Mapping[str, int]
    measured_us: int


@dataclass(frozen=True, slots=True)
class AblationRow:
    """How tables do on unseen cells when something is withheld; percent.

    Args:
        kind: ``nothing``, ``term``, ``shape``, ``model`` or ``family``.
        name: of the term or group.
        cells: how many cells were judged.
        ordered_pct: share of separated pairs ordered right; None without pairs.
    """

    kind: str
    name: str
    cells: int
    summed_regret_pct: float
    p95_regret_pct: float | None
    max_regret_pct: float | None
    ordered_pct: float | None
