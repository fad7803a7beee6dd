"""What the runner writes to: the tracker implements it on its log, so that the harness knows no ledger."""

from typing import Any, Protocol

from schemas import CellPlan


class Attempt(Protocol):
    """One execution of a cell, open for events."""

    def append(self, type: str, data: dict[str, Any], *, durable: bool) -> None:
        """Add an event; `durable` asks that it and all before it be on disk when the call returns."""
        ...

    def seal(self) -> None:
        """No event follows: the last one was `cell.completed` or `cell.failed`."""
        ...


class Recorder(Protocol):
    """A place for the attempts of one campaign."""

    def attempts_of(self, cell: str) -> int:
        """How many attempts of the cell there are already, of any outcome."""
        ...

    def open_attempt(self, plan: CellPlan, number: int) -> Attempt:
        """Begin an attempt; `number` counts from 1 within the cell."""
        ...
