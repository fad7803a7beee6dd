"""What the runner tells the workers: one file for each launch, read by every rank.

Also what comes back: JSON lines, one object each, told apart by `event` (see `WORKER_EVENTS`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from schemas import CellPlan, Protocol, Record

EVENTS_FD = "LAYOUTLEDGER_EVENTS_FD"
COMMANDS_FD = "LAYOUTLEDGER_COMMANDS_FD"
PARENT_PID = "LAYOUTLEDGER_PARENT_PID"

WORKER_EVENTS = {
    "ready": "the rank has loaded what it needs and waits for cells: rank, pid",
    "record": "an event for the ledger, of the cell under way: type, data",
    "report": "the rank's end report: it measured the whole cell",
    "failed": "the cell failed on this rank: kind, message, first",
    "ended": "the cell's process of this rank ended: code as in subprocess (a signal is negative)",
}


class Fault(Record):
    """What a test asks a worker to suffer, for real; no campaign file and no public call can set one.

    It strikes on `rank` before the sample of position 0 in `round` (of `role`).
    """

    kind: Literal["exception", "kill", "hang", "non_finite", "out_of_memory", "leave", "recompile", "stall"]
    rank: int = 0
    role: Literal["warmup", "measured"] = "measured"
    round: int = Field(default=0, ge=0)


class AutomaticChoice(Record):
    """Under which coefficients the planner's own choice is made; none is the hand-set version 1."""

    version: int = Field(default=1, ge=1)
    coefficients: dict[str, int] | None = None


class Work(Record):
    """What an engine is asked to measure; plain JSON, so that it can go to another machine."""

    cells: tuple[CellPlan, ...]
    protocol: Protocol
    automatic: AutomaticChoice = Field(default_factory=AutomaticChoice)
    faults: dict[str, Fault] = Field(default_factory=dict, description="by cell key; tests alone set any")

    def alone(self, plan: CellPlan) -> "Work":
        """One of its cells as work of its own."""
        key = plan.identity.key
        faults = {key: self.faults[key]} if key in self.faults else {}
        return self.model_copy(update={"cells": (plan,), "faults": faults})

    def job(self, plans: Sequence[CellPlan], folder: Path, source: str) -> "Job":
        """The launch of some of its cells, all of one world size; `folder` is scratch, `source` a digest."""
        cells = tuple(
            JobCell(
                plan=plan,
                rendezvous=f"file://{folder / f'rendezvous-{index}'}",
                fault=self.faults.get(plan.identity.key),
            )
            for index, plan in enumerate(plans)
        )
        return Job(
            world_size=plans[0].identity.shape.world_size,
            protocol=self.protocol,
            automatic=self.automatic,
            source=source,
            folder=str(folder),
            cells=cells,
        )


class JobCell(Record):
    """A cell of a launch, and where its ranks meet."""

    plan: CellPlan
    rendezvous: str
    fault: Fault | None = None


class Job(Record):
    """Cells of one world size, measured one after another by the same ranks."""

    world_size: int = Field(ge=1)
    protocol: Protocol
    automatic: AutomaticChoice
    source: str = Field(description="digest of the measuring source")
    folder: str = Field(description="scratch folder: last-collective files, logs")
    cells: tuple[JobCell, ...]


def last_collective_file(rank: int) -> str:
    """Name, inside the job's folder, of the file that holds a rank's last collective."""
    return f"rank{rank}.collective"


def log_file(rank: int) -> str:
    """Name, inside the job's folder, of what a rank wrote to stdout and stderr."""
    return f"rank{rank}.log"


def event_line(event: str, **fields: Any) -> dict[str, Any]:
    """One message of a worker."""
    return {"event": event, **fields}
