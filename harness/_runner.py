"""A campaign: an engine runs its cells, the runner records what they say and judges how each ended.

The runner alone writes, through the recorder that it is given; a dead worker loses nothing that it had said.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness._attempt import OpenAttempt, State, Tell
from harness._failure import Verdict
from harness._interrupt import StopSignals
from harness._job import AutomaticChoice, Fault, Work
from harness._launch import CellOutcome
from harness._recorder import Recorder
from harness.engines import Engine, LocalEngine
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
    engine: Engine | None = None,
) -> CampaignSummary:
    """Measure the manifest's cells, each in a new attempt, and record all of it.

    Args:
        manifest: what is expected.
        recorder: where the events go.
        skip_completed: keys of cells that are measured already.
        progress: told at the start and end of each cell and at each of its samples.
        automatic: the coefficients of the planner's own choice; the hand-set version 1 if None.
        engine: where the cells run; this machine if None.

    A failed cell does not stop the others. SIGINT and SIGTERM end the attempts under way as `interrupted` and
    are told in the summary.

    """
    run = CampaignRun(
        manifest,
        recorder,
        progress=progress,
        automatic=automatic or AutomaticChoice(),
        engine=engine or LocalEngine(),
    )
    return run.run(skip_completed)


@dataclass(slots=True)
class CampaignRun:
    """One run of a campaign, and what its engine reports to. `faults`, by cell key, is for tests alone."""

    manifest: Manifest
    recorder: Recorder
    progress: OnProgress | None = None
    automatic: AutomaticChoice = field(default_factory=AutomaticChoice)
    engine: Engine = field(default_factory=LocalEngine)
    faults: Mapping[str, Fault] = field(default_factory=dict)
    completed: list[str] = field(default_factory=list)
    failed: dict[str, FailureKind] = field(default_factory=dict)
    _open: dict[str, OpenAttempt] = field(default_factory=dict)

    def run(self, skip_completed: Collection[str] = ()) -> CampaignSummary:
        """Measure what is not to be skipped."""
        begin = time.monotonic()
        pending = tuple(plan for plan in self.manifest.cells if plan.identity.key not in skip_completed)
        work = Work(
            cells=pending,
            protocol=self.manifest.protocol,
            automatic=self.automatic,
            faults=dict(self.faults),
        )
        with StopSignals() as stop:
            self.engine.run(work, self, stop)
        done = {*self.completed, *self.failed}
        return CampaignSummary(
            completed=tuple(self.completed),
            failed=dict(self.failed),
            skipped=tuple(key for key in self.manifest.keys if key in skip_completed),
            not_run=tuple(plan.identity.key for plan in pending if plan.identity.key not in done),
            interrupted=stop.received.name if stop.received else None,
            wall_s=round(time.monotonic() - begin, 3),
        )

    def began(self, plan: CellPlan, environment: Mapping[str, Any]) -> None:
        """Open an attempt."""
        key = plan.identity.key
        number = self.recorder.attempts_of(key) + 1
        attempt = OpenAttempt(
            self.recorder.open_attempt(plan, number), key, self.manifest.protocol, self._tell(key)
        )
        self._open[key] = attempt
        attempt.start(plan, number, self.engine.name, environment)

    def said(self, plan: CellPlan, type_: str, data: dict[str, Any]) -> None:
        """Record an event of the attempt under way."""
        self._open[plan.identity.key].take(type_, data)

    def ended(self, plan: CellPlan, outcome: CellOutcome) -> None:
        """Judge the attempt and close it; a later attempt of the same cell has the last word."""
        key, ranks = plan.identity.key, plan.identity.shape.world_size
        if outcome.reason is None and len(outcome.exit_codes) != ranks:
            told = f"exit codes of {len(outcome.exit_codes)} ranks came, the cell has {ranks}"
            outcome.reason = Verdict("false_success", told)
        verdict = self._open.pop(key).finish(outcome, self.manifest.protocol.timeout_s)
        if verdict is None:
            self.failed.pop(key, None)
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
