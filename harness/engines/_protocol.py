"""What an engine is: run these cells, and report each cell's outcome."""

from collections.abc import Mapping
from typing import Any, Protocol

from harness._interrupt import StopSignals
from harness._job import Work
from harness._launch import CellOutcome
from schemas import CellPlan


class Reports(Protocol):
    """What an engine tells of its cells, from one thread; several cells may be under way at once.

    The runner implements it and judges: an engine that says of a cell that it went well is believed only if
    exit status, end reports and samples agree.
    """

    def began(self, plan: CellPlan, environment: Mapping[str, Any]) -> None:
        """A new attempt of the cell is under way on a machine of which this is the environment."""
        ...

    def said(self, plan: CellPlan, type_: str, data: dict[str, Any]) -> None:
        """The cell's ranks sent an event for the ledger."""
        ...

    def ended(self, plan: CellPlan, outcome: CellOutcome) -> None:
        """The attempt is over. Another one of the same cell may follow."""
        ...


class Engine(Protocol):
    """Runs cells somewhere."""

    @property
    def name(self) -> str:
        """How attempts name it in the ledger."""
        ...

    def run(self, work: Work, reports: Reports, stop: StopSignals) -> None:
        """Run each cell of the work, in any order, until all have ended or `stop` has received a signal.

        On return nothing of the work runs any more, and every attempt that began has ended in a report. A
        failed cell does not stop the others.
        """
        ...
