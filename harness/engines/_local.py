"""`local`: cells one after another on this machine; those of one world size share a launch."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness._environment import environment_record, source_digest
from harness._interrupt import StopSignals
from harness._job import Work
from harness._launch import WORKER, Launch
from harness.engines._protocol import Reports
from schemas import CellPlan


class LocalEngine:
    """The engine of one machine.

    Args:
        command: what starts a rank (see `Launch`).
    """

    name = "local"

    def __init__(self, command: Sequence[str] = WORKER) -> None:
        self._command = tuple(command)

    def run(self, work: Work, reports: Reports, stop: StopSignals) -> None:
        """Run the cells, those of the fewest ranks first."""
        for size in sorted({plan.identity.shape.world_size for plan in work.cells}):
            rest = [plan for plan in work.cells if plan.identity.shape.world_size == size]
            while rest and stop.received is None:
                rest = rest[self._launch(work, rest, reports, stop) :]

    def _launch(self, work: Work, plans: Sequence[CellPlan], reports: Reports, stop: StopSignals) -> int:
        """Measure with one set of ranks as many cells as they live to; how many those were."""
        with tempfile.TemporaryDirectory(prefix="layoutledger-") as folder:
            job = work.job(plans, Path(folder), source_digest())
            with Launch(job, wake=stop.fileno(), command=self._command) as launch:
                for index, plan in enumerate(plans):
                    if stop.received is not None:
                        return index
                    reports.began(plan, environment_record(work.protocol.threads_per_rank))
                    outcome = launch.run(
                        index,
                        work.protocol.timeout_s,
                        lambda type_, data: reports.said(plan, type_, data),  # noqa: B023
                    )
                    reports.ended(plan, outcome)
                    if not launch.alive:
                        return index + 1
        return len(plans)
