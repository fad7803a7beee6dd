"""Evidence as the fit sees it: cells, their candidates and medians; and the same compiled into arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fit._noise import median_error_pct
from planner import TERMS, WORK_PER_US, LayoutFeatures, ScoringFacts
from schemas import InvalidInputError

Ints = npt.NDArray[Any]
"""int64 where every value fits, Python integers (dtype object) where one does not."""
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

LARGEST_INT64 = 2**63 - 1


@dataclass(frozen=True, slots=True)
class FitCandidate:
    """One measured layout of a cell.

    Args:
        label: the candidate's first policy label; unique within the cell.
        features: what the score reads of the layout.
        median_ms: median of the usable samples, milliseconds.
        n: how many usable samples.
        spread_pct: their range over the median, percent.
        shared_decisions: how many decisions the layout shares; version 1 alone reads it.
    """

    label: str
    features: LayoutFeatures
    median_ms: float
    n: int
    spread_pct: float
    shared_decisions: int


@dataclass(frozen=True, slots=True)
class FitCell:
    """One cell: the candidates that may be compared with each other, in label order.

    Args:
        key: the cell's name, unique within a campaign.
        model: the measured model's name.
        family: the workload's family.
        shape: the parallel shape's label, ``tp2|cp1``.
        facts: what the terms read beside the features.
        candidates: in label order; the order breaks ties of equal score.

    Raises:
        InvalidInputError: no candidate, a label twice, or a median that is not a positive number.
    """

    key: str
    model: str
    family: str
    shape: str
    facts: ScoringFacts
    candidates: tuple[FitCandidate, ...]

    def __post_init__(self) -> None:
        labels = [candidate.label for candidate in self.candidates]
        if not labels:
            raise InvalidInputError(f"cell {self.key}: no candidate was measured; exclude it with a reason")
        if len(set(labels)) != len(labels):
            raise InvalidInputError(
                f"cell {self.key}: a candidate label stands twice among {labels}; give each once"
            )
        for candidate in self.candidates:
            if not 0 < candidate.median_ms < float("inf"):
                raise InvalidInputError(
                    f"cell {self.key}: candidate {candidate.label} has median {candidate.median_ms} ms; "
                    "a positive finite time is needed"
                )


@dataclass(frozen=True, slots=True)
class Evidence:
    """Cells compiled: all candidates one after another, in cell order.

    Args:
        cells: what was compiled.
        terms: names of the columns of ``values``.
        values: (candidates, terms) integer term values divided by ``unit``.
        unit: greatest common divisor of all term values, in work units.
        largest: (terms,) greatest value of each column.
        ties: (candidates,) rank within the cell by packed tokens, segments, levels; equal where all are.
        ranks: one more than the greatest of ``ties``.
        starts: (cells,) index of each cell's first candidate.
        cell_of: (candidates,) index of the cell.
        ms: (candidates,) medians in milliseconds.
        regret: (candidates,) percent above the cell's fastest, if this one were selected.
        error_pct: (candidates,) standard error of the median, percent of it.
    """

    cells: tuple[FitCell, ...]
    terms: tuple[str, ...]
    values: Ints
    unit: int
    largest: tuple[int, ...]
    ties: Indices
    ranks: int
    starts: Indices
    cell_of: Indices
    ms: Floats
    regret: Floats
    error_pct: Floats

    @property
    def units(self) -> Floats:
        """(candidates, terms) term values in the units that a coefficient of 1 microsecond prices."""
        return np.asarray(self.values * self.unit, dtype=np.float64) / WORK_PER_US


def integers(rows: Sequence[Sequence[int]] | Sequence[int]) -> Ints:
    """Python integers as int64, or as objects where one needs more than 63 bits."""
    exact = np.array(rows, dtype=object)
    largest = max((abs(value) for value in exact.flat), default=0)
    return exact if largest > LARGEST_INT64 else exact.astype(np.int64)


def compile_cells(cells: Sequence[FitCell], terms: Sequence[str]) -> Evidence:
    """Term values and medians of cells as arrays.

    Raises:
        InvalidInputError: no cell, a cell twice, or a name that is no term.
    """
    check_terms(terms)
    _check_distinct(cells)
    sizes = np.array([len(cell.candidates) for cell in cells], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    cell_of = np.repeat(np.arange(len(cells), dtype=np.int64), sizes)
    ms = np.array([c.median_ms for cell in cells for c in cell.candidates], dtype=np.float64)
    best = np.minimum.reduceat(ms, starts)[cell_of]
    values, unit = _term_values(cells, terms)
    ties = np.concatenate([_tie_ranks(cell) for cell in cells])
    return Evidence(
        cells=tuple(cells),
        terms=tuple(terms),
        values=values,
        unit=unit,
        largest=tuple(int(top) for top in values.max(axis=0)),
        ties=ties,
        ranks=int(ties.max()) + 1,
        starts=starts,
        cell_of=cell_of,
        ms=ms,
        regret=(ms - best) / best * 100,
        error_pct=np.array([median_error_pct(c.n, c.spread_pct) for cell in cells for c in cell.candidates]),
    )


def take(evidence: Evidence, places: Sequence[int]) -> Evidence:
    """The evidence of some cells by their place; a place may stand more than once, as in a resample."""
    chosen = np.array(places, dtype=np.int64)
    firsts = evidence.starts[chosen]
    sizes = np.append(evidence.starts, len(evidence.ms))[chosen + 1] - firsts
    starts = np.cumsum(sizes) - sizes
    kept: Indices = np.arange(int(sizes.sum())) + np.repeat(firsts - starts, sizes)
    return replace(
        evidence,
        cells=tuple(evidence.cells[place] for place in places),
        values=evidence.values[kept],
        ties=evidence.ties[kept],
        starts=starts,
        cell_of=np.repeat(np.arange(len(sizes), dtype=np.int64), sizes),
        ms=evidence.ms[kept],
        regret=evidence.regret[kept],
        error_pct=evidence.error_pct[kept],
    )


def predict(units: Floats, coefficients: Floats) -> Floats:
    """(candidates,) predicted microseconds: summed term by term, so that equal rows stay equal everywhere."""
    total = np.zeros(len(units))
    for column, coefficient in zip(units.T, coefficients, strict=True):
        total += column * coefficient
    return total


def check_terms(terms: Sequence[str]) -> None:
    """Refuse a name that is no term, or a term listed twice."""
    unknown = [name for name in terms if name not in TERMS]
    if unknown:
        raise InvalidInputError(f"{', '.join(unknown)}: no such term; the terms are {', '.join(TERMS)}")
    if len(set(terms)) != len(terms) or not terms:
        raise InvalidInputError(f"a fit needs each term once and at least one, got {list(terms)}")


def _check_distinct(cells: Sequence[FitCell]) -> None:
    keys = [cell.key for cell in cells]
    if not keys:
        raise InvalidInputError("there is no cell to fit or to judge; measure or import some first")
    doubled = sorted({key for key in keys if keys.count(key) > 1}) if len(set(keys)) != len(keys) else []
    if doubled:
        raise InvalidInputError(f"cells stand more than once: {', '.join(doubled)}; give each once")


def _term_values(cells: Sequence[FitCell], terms: Sequence[str]) -> tuple[Ints, int]:
    rows: list[list[int]] = []
    for cell in cells:
        parts = [(TERMS[name].quantity, *TERMS[name].rate(cell.facts)) for name in terms]
        for candidate in cell.candidates:
            rows.append([q.of(candidate.features, cell.facts) * over // under for q, over, under in parts])
    exact = integers(rows)
    unit = int(np.gcd.reduce(exact, axis=None)) or 1
    return exact // unit, unit


def _tie_ranks(cell: FitCell) -> Indices:
    """Order of the candidates where their works are equal, as the production score breaks ties."""
    keys = [
        (c.features.packed_tokens, c.features.segment_count, c.features.max_depth) for c in cell.candidates
    ]
    order = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return np.array([order[key] for key in keys], dtype=np.int64)
