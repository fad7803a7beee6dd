"""A campaign, cell after cell: start ranks, record what they say, and judge how each cell ended.

The runner alone writes, through the recorder that it is given; a dead worker loses nothing that it had said.
"""

import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness._attempt import OpenAttempt, State, Tell
from harness._environment import source_digest
from harness._interrupt import StopSignals
from harness._job import AutomaticChoice, Fault, Job, JobCell
from harness._launch import Launch
from harness._recorder import Recorder
from schemas import CellPlan, FailureKind, Manifest


@dataclass(frozen=True, slots=True)
class CellProgress:
    """Where the campaign is: cell `index` of `total` (from 1), measured samples so far of those expected."""

    cell: str
    index: int
    total: int
    state: State
    samples: int = 0
    expected: int = 0
    message: str = ""


OnProgress = Callable[[CellProgress], None]


@dataclass(frozen=True, slots=True)
class CampaignSummary:
    """How a run of a campaign ended; `failed` gives kinds by cell, `not_run` what an interrupt left out."""

    completed: tuple[str, ...]
    failed: dict[str, FailureKind]
    skipped: tuple[str, ...]
    not_run: tuple[str, ...]
    interrupted: str | None
    wall_s: float

    @property
    def ok(self) -> bool:
        """Whether every cell of the manifest is measured, by this run or an earlier one."""
        return not self.failed and not self.not_run and self.interrupted is None


def run_campaign(
    manifest: Manifest,
    recorder: Recorder,
    *,
    skip_completed: Collection[str] = (),
    progress: OnProgress | None = None,
    automatic: AutomaticChoice | None = None,
) -> CampaignSummary:
    """Measure the manifest's cells, each in one new attempt, and record all of it.

    Args:
        manifest: what is expected.
        recorder: where the events go.
        skip_completed: keys of cells that are measured already.
        progress: told at the start and end of each cell and at each of its samples.
        automatic: the coefficients of the planner's own choice; the hand-set version 1 if None.

    A failed cell does not stop the others. SIGINT and SIGTERM end the attempt under way as `interrupted` and
    are told in the summary.

    """
    run = CampaignRun(manifest, recorder, progress=progress, automatic=automatic or AutomaticChoice())
    return run.run(skip_completed)


@dataclass(slots=True)
class CampaignRun:
    """One run of a campaign. `faults`, by cell key, is for tests alone."""

    manifest: Manifest
    recorder: Recorder
    progress: OnProgress | None = None
    automatic: AutomaticChoice = field(default_factory=AutomaticChoice)
    faults: Mapping[str, Fault] = field(default_factory=dict)
    completed: list[str] = field(default_factory=list)
    failed: dict[str, FailureKind] = field(default_factory=dict)

    def run(self, skip_completed: Collection[str] = ()) -> CampaignSummary:
        """Measure what is not to be skipped."""
        begin = time.monotonic()
        skipped = [key for key in self.manifest.keys if key in skip_completed]
        pending = [plan for plan in self.manifest.cells if plan.identity.key not in skip_completed]
        with StopSignals() as stop:
            for size in sorted({plan.identity.shape.world_size for plan in pending}):
                rest = [plan for plan in pending if plan.identity.shape.world_size == size]
                while rest and stop.received is None:
                    rest = rest[self._launch(rest, stop) :]
        done = {*self.completed, *self.failed}
        return CampaignSummary(
            completed=tuple(self.completed),
            failed=dict(self.failed),
            skipped=tuple(skipped),
            not_run=tuple(plan.identity.key for plan in pending if plan.identity.key not in done),
            interrupted=stop.received.name if stop.received else None,
            wall_s=round(time.monotonic() - begin, 3),
        )

    def _launch(self, plans: Sequence[CellPlan], stop: StopSignals) -> int:
        """Measure with one set of ranks as many cells as they live to; how many those were."""
        with tempfile.TemporaryDirectory(prefix="layoutledger-") as folder:
            job = self._job(plans, Path(folder))
            with Launch(job, wake=stop.fileno()) as launch:
                for index, plan in enumerate(plans):
                    if stop.received is not None:
                        return index
                    self._cell(launch, index, plan)
                    if not launch.alive:
                        return index + 1
        return len(plans)

    def _job(self, plans: Sequence[CellPlan], folder: Path) -> Job:
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
            protocol=self.manifest.protocol,
            automatic=self.automatic,
            source=source_digest(),
            folder=str(folder),
            cells=cells,
        )

    def _cell(self, launch: Launch, index: int, plan: CellPlan) -> None:
        key = plan.identity.key
        protocol = self.manifest.protocol
        number = self.recorder.attempts_of(key) + 1
        attempt = OpenAttempt(self.recorder.open_attempt(plan, number), key, protocol, self._tell(key))
        attempt.start(plan, number)
        outcome = launch.run(index, protocol.timeout_s, attempt.take)
        verdict = attempt.finish(outcome, protocol.timeout_s)
        if verdict is None:
            self.completed.append(key)
        else:
            self.failed[key] = verdict.kind

    def _tell(self, key: str) -> Tell:
        """Progress of one cell."""
        index, total = self.manifest.keys.index(key) + 1, len(self.manifest.keys)

        def tell(state: State, samples: int, expected: int, message: str) -> None:
            if self.progress is not None:
                self.progress(CellProgress(key, index, total, state, samples, expected, message))

        return tell
