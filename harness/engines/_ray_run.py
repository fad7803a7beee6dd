"""The cells of one run in a Ray cluster, seen from the process that records them."""

import os
import signal
import time
from dataclasses import dataclass, field
from typing import Any

from harness._environment import source_digest
from harness._failure import Verdict
from harness._interrupt import StopSignals
from harness._job import Work
from harness._launch import CellOutcome
from harness.engines._protocol import Reports
from harness.engines._ray_node import Began, cell_on_node
from schemas import CellPlan

_POLL_S = 0.5
_PLACEMENT_POLL_S = 2.0
_STOP_LIMIT_S = 30.0


@dataclass(slots=True)
class _Task:
    """A cell in the cluster: how often its node was lost before, where it runs, what came of it."""

    plan: CellPlan
    lost_before: int = 0
    began: Began | None = None
    ended: bool = False
    homeless_since: float | None = None


@dataclass(slots=True)
class RayRun:
    """Submits cells to the cluster that the `ray` module is connected to, and takes in what they say."""

    ray: Any
    work: Work
    reports: Reports
    retries: int
    placement_limit_s: float
    _tasks: dict[Any, _Task] = field(default_factory=dict)
    _stopping: bool = False
    _next_look: float = 0.0

    def run(self, stop: StopSignals) -> None:
        """Until every cell has ended, or a signal came; then nothing of ours is left in the cluster."""
        try:
            for plan in self.work.cells:
                self._submit(_Task(plan))
            while self._tasks and stop.received is None:
                self._pump()
                self._give_up_homeless()
            if self._tasks:
                self._stop()
        finally:
            for stream in self._tasks:
                self.ray.cancel(stream, force=True)

    def _submit(self, task: _Task) -> None:
        # Ray itself must not try again: its second attempt would not be told from the first.
        options = {**needs(self.work, task.plan), "num_returns": "streaming", "max_retries": 0}
        remote = self.ray.remote(cell_on_node).options(**options)
        self._tasks[remote.remote(self.work.alone(task.plan).plain(), source_digest())] = task

    def _pump(self) -> None:
        """Take in one message, if one comes within a moment."""
        ready, _ = self.ray.wait(list(self._tasks), num_returns=1, timeout=_POLL_S)
        for stream in ready:
            task = self._tasks[stream]
            try:
                self._take(task, self.ray.get(next(stream)))
            except StopIteration:
                self._close(stream, Verdict("launch", "its task ended without saying how"))
            except self.ray.exceptions.RayError as error:
                self._close(stream, self._explain(task, error))

    def _take(self, task: _Task, message: Any) -> None:
        if isinstance(message, Began):
            task.began = message
            self.reports.began(task.plan, message.environment)
        elif isinstance(message, CellOutcome):
            task.ended = True
            self.reports.ended(task.plan, message)
        else:
            self.reports.said(task.plan, *message)

    def _close(self, stream: Any, reason: Verdict) -> None:
        """The stream is over; where its cell is not, it failed, and after a lost node it starts anew."""
        task = self._tasks.pop(stream)
        if task.ended:
            return
        self._fail(task, reason)
        if reason.kind == "node_lost" and task.lost_before < self.retries and not self._stopping:
            self._submit(_Task(task.plan, task.lost_before + 1))

    def _fail(self, task: _Task, reason: Verdict) -> None:
        if task.began is None:
            self.reports.began(task.plan, {})
        ranks = task.plan.identity.shape.world_size
        self.reports.ended(
            task.plan, CellOutcome([None] * ranks, started=task.began is not None, reason=reason)
        )

    def _explain(self, task: _Task, error: Exception) -> Verdict:
        """What an error of Ray's means for a cell."""
        errors = self.ray.exceptions
        lines = str(error).strip().splitlines() or [""]
        if isinstance(error, errors.RayTaskError):
            # The heading is Ray's own; what was raised stands last.
            return Verdict("launch", f"the cell's task failed on its node: {lines[-1]}")
        what = f"{type(error).__name__}: {lines[0]}"
        if isinstance(error, errors.OutOfMemoryError):
            return Verdict("out_of_memory", what)
        lost = (
            errors.NodeDiedError,
            errors.WorkerCrashedError,
            errors.LocalRayletDiedError,
            errors.ObjectLostError,
        )
        if not isinstance(error, lost):
            return Verdict("launch", what)
        where = task.began.environment["node_address"] if task.began else "its node"
        return Verdict("node_lost", f"{where} was lost, loss {task.lost_before + 1} of this cell: {what}")

    def _give_up_homeless(self) -> None:
        """Fail cells that no node could hold for too long; until then a growing cluster may bring one."""
        now = time.monotonic()
        if now < self._next_look or all(task.began for task in self._tasks.values()):
            return
        self._next_look = now + _PLACEMENT_POLL_S
        nodes = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        for stream, task in list(self._tasks.items()):
            wanted = needs(self.work, task.plan)
            if task.began or any(_fits(wanted, node) for node in nodes):
                task.homeless_since = None
                continue
            task.homeless_since = task.homeless_since or now
            if now - task.homeless_since >= self.placement_limit_s:
                self.ray.cancel(stream, force=True)
                self._fail(self._tasks.pop(stream), Verdict("launch", _homeless(wanted, nodes)))

    def _stop(self) -> None:
        """End every cell: those that run say what they had, those that wait are withdrawn."""
        self._stopping = True
        for stream, task in list(self._tasks.items()):
            if task.began is None:
                self.ray.cancel(stream, force=True)
                del self._tasks[stream]
            else:
                self._terminate(task.began)
        end = time.monotonic() + _STOP_LIMIT_S
        while self._tasks and time.monotonic() < end:
            self._pump()
        for stream, task in self._tasks.items():
            self.ray.cancel(stream, force=True)
            if not task.ended:
                self._fail(task, Verdict("interrupted", "the runner was told to stop"))
        self._tasks = {}

    def _terminate(self, began: Began) -> None:
        """Signal the process on its node; Ray's own gentle cancel would discard what the cell says last."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        def terminate(pid: int) -> None:
            os.kill(pid, signal.SIGTERM)

        # A function inside a function travels by value: the node need not first import what is ours.
        there = NodeAffinitySchedulingStrategy(began.node, soft=False)
        options = {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": there}
        self.ray.remote(terminate).options(**options).remote(began.pid)


def needs(work: Work, plan: CellPlan) -> dict[str, float]:
    """What a cell asks of a node: a processor for each thread of each rank, on CUDA a GPU for each rank."""
    ranks = plan.identity.shape.world_size
    gpus = ranks if plan.device == "cuda" else 0
    return {"num_cpus": ranks * work.protocol.threads_per_rank, "num_gpus": gpus}


def _fits(wanted: dict[str, float], node: dict[str, float]) -> bool:
    return wanted["num_cpus"] <= node.get("CPU", 0) and wanted["num_gpus"] <= node.get("GPU", 0)


def _homeless(wanted: dict[str, float], nodes: list[dict[str, float]]) -> str:
    there = ", ".join(f"{node.get('CPU', 0):g} and {node.get('GPU', 0):g}" for node in nodes) or "none"
    return (
        f"no node holds it: it needs {wanted['num_cpus']:g} processors and {wanted['num_gpus']:g} GPUs; "
        f"the cluster's nodes have {there}"
    )
