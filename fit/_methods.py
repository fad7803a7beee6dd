"""Fitting methods by name, and the table that one gives."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from fit._cells import Evidence, FitCell, Floats, check_terms, compile_cells
from fit._keys import as_table, whole
from fit._margin import margins
from fit._pairs import within_cells
from fit._refine import RegretLoss, refine
from fit._round import round_selections
from fit._screen import screen
from fit._squares import least_squares
from schemas import FitArguments, IncompleteEvidenceError, InvalidInputError, table_digest


@dataclass(frozen=True, slots=True)
class FittedTable:
    """An integer table and the procedure that gave it.

    Args:
        coefficients: integer milli-microseconds per unit by term name, in the order of the arguments.
        method: the procedure's name.
    """

    coefficients: dict[str, int]
    method: str

    @property
    def digest(self) -> str:
        """sha256 of the table."""
        return table_digest(self.coefficients)


Method = Callable[[Evidence], Mapping[str, int]]
"""From the compiled training cells to an integer table over some or all of their terms."""


def nnls(evidence: Evidence) -> Mapping[str, int]:
    """Non-negative least squares alone, rounded."""
    return as_table(evidence, whole(least_squares(evidence, within_cells(evidence))))


def nnls_regret(evidence: Evidence) -> Mapping[str, int]:
    """The published procedure: least squares, then the coordinate search for regret, then rounding."""
    start: Floats = least_squares(evidence, within_cells(evidence))
    best, _ = refine(RegretLoss.of(evidence), start)
    return as_table(evidence, whole(best))


def rank_margin(evidence: Evidence) -> Mapping[str, int]:
    """Least squares on margins over the screened terms, rounded so that the selections stay."""
    problem = margins(evidence)
    coefficients = problem.solve(screen(problem))
    table = as_table(evidence, round_selections(evidence, coefficients))
    used = {name: value for name, value in table.items() if value}
    return used or table


METHODS: Mapping[str, Method] = MappingProxyType(
    {"rank-margin": rank_margin, "nnls-regret": nnls_regret, "nnls": nnls}
)
"""Every method by its name in ``FitArguments.method``."""


def fit_table(cells: Sequence[FitCell], arguments: FitArguments) -> FittedTable:
    """Fit the integer table of training cells.

    The same cells in the same order give the same integers on every machine.

    Args:
        cells: the training cells; the caller keeps the held-out ones away.
        arguments: which method, over which terms.

    Raises:
        InvalidInputError: an unknown method or term, or a cell that stands twice.
        IncompleteEvidenceError: no cell, or no cell with two candidates to compare.
    """
    check_arguments(arguments)
    if not cells:
        raise IncompleteEvidenceError("there is no training cell; measure or import some first")
    return fit_evidence(compile_cells(cells, arguments.terms), arguments.method)


def check_arguments(arguments: FitArguments) -> None:
    """Refuse an unknown method or term.

    Raises:
        InvalidInputError: saying what there is.
    """
    if arguments.method not in METHODS:
        raise InvalidInputError(f"no fitting method {arguments.method!r}; there are {', '.join(METHODS)}")
    check_terms(arguments.terms)


def fit_evidence(evidence: Evidence, method: str) -> FittedTable:
    """Fit compiled cells by a method of ``METHODS``.

    Raises:
        IncompleteEvidenceError: no cell has two candidates to compare.
    """
    if not can_fit(evidence, range(len(evidence.cells))):
        raise IncompleteEvidenceError(
            f"none of the {len(evidence.cells)} training cells has two candidates to compare; "
            "measure more cells"
        )
    return FittedTable(dict(METHODS[method](evidence)), method)


def can_fit(evidence: Evidence, places: Sequence[int]) -> bool:
    """Whether a table can be fitted on the cells at these places: one of them has two candidates."""
    return any(len(evidence.cells[place].candidates) > 1 for place in places)
