"""The measuring protocol of one cell on one rank: warm up, then rounds over the candidates in rotating order.

Every decision that could differ between ranks (warm-up done, another round, stop) is taken from gathered
values, so that no rank goes on alone and waits for the others for ever.
"""

import gc
import os
import resource
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness._cell import PreparedCell
from harness._comm import Groups, barrier, gather_control, gather_control_text
from harness._environment import processors
from harness._failure import NonFiniteLossError, RanksDisagreeError, TooFewUsableError, WarmupNeverQuietError
from harness._faults import FaultInjector
from harness._guards import CompileWatch
from harness._sample import JointSample, Role, delay_limit_pct, join
from harness._stopping import REASONS, Reason, Stopping
from harness._timer import time_step
from harness._workload import rows_digest
from schemas import Protocol, Record, digest_json

Emit = Callable[[str, Record], None]
Step = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Bench:
    """What the protocol runs on: the steps by candidate name, the ranks, the device, where events go."""

    cell: str
    steps: dict[str, Step]
    model: torch.nn.Module
    groups: Groups
    device: torch.device
    protocol: Protocol
    faults: FaultInjector
    emit: Emit


class CellMeasurement:
    """Counts of one cell while it is measured."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._watch = CompileWatch()
        self._names = tuple(bench.steps)
        self._limit_pct = delay_limit_pct(
            bench.protocol.disturbed_pct, bench.groups.world_size, len(processors())
        )
        self._stopping = Stopping(bench.protocol, self._names)
        self.taken: Counter[str] = Counter()
        self.warmup_rounds = 0
        self.stopped: Reason | None = None

    @property
    def usable(self) -> Counter[str]:
        """Usable measured samples by candidate."""
        return self._stopping.usable

    def run(self) -> None:
        """Warm up and measure.

        Raises:
            WarmupNeverQuietError: compilations went on through the last warm-up round that is allowed.
            NonFiniteLossError: a step's loss is not a number.
            TooFewUsableError: a candidate lacks usable samples after all rounds.

        """
        try:
            self._warm_up()
            self._measure()
        finally:
            self._watch.close()

    def _warm_up(self) -> None:
        protocol = self._bench.protocol
        for round_number in range(protocol.warmup_limit):
            samples = self._round("warmup", round_number)
            self.warmup_rounds += 1
            quiet = not any(sample.compile_events for sample in samples)
            if quiet and self.warmup_rounds >= protocol.warmup_rounds:
                return
        raise WarmupNeverQuietError(
            f"compilations were still seen in warm-up round {protocol.warmup_limit}; raise "
            "protocol.warmup_limit, or find what compiles anew with TORCH_LOGS=recompiles"
        )

    def _measure(self) -> None:
        protocol = self._bench.protocol
        while (reason := self._agreed_reason()) is None:
            self._round("measured", self._stopping.rounds)
        self.stopped = reason
        if reason == "too_few":
            lacking = [f"{name} ({self.usable[name]})" for name in self._stopping.lacking]
            raise TooFewUsableError(
                f"after {protocol.rounds} rounds and up to {protocol.extra_rounds} extra ones these "
                f"candidates have fewer than {protocol.required} usable samples: {', '.join(lacking)}; "
                "measure on a quieter machine or allow more extra_rounds"
            )

    def _agreed_reason(self) -> Reason | None:
        """Rank 0's answer: all ranks hold the same samples, but not all need have the same floating point."""
        reason = self._stopping.reason()
        if self._bench.protocol.adaptive is None:
            return reason
        mine = 0 if reason is None else 1 + REASONS.index(reason)
        first = gather_control(self._bench.groups, [mine])[0][0]
        return None if first == 0 else REASONS[first - 1]

    def _round(self, role: Role, round_number: int) -> list[JointSample]:
        """Each candidate once, starting one further on each round, so that a drift meets all alike."""
        gc.collect()
        gc.disable()
        try:
            return [
                self._sample(name, role, round_number, position)
                for position, name in enumerate(rotated(self._names, round_number))
            ]
        finally:
            gc.enable()

    def _sample(self, name: str, role: Role, round_number: int, position: int) -> JointSample:
        bench = self._bench
        barrier(bench.groups)
        step = bench.steps[name]
        if position == 0:
            step = _struck(step, bench, role, round_number)
        sample = join(time_step(step, self._watch, bench.device), bench.groups)
        if not sample.finite:
            losses = ", ".join(str(rank.loss) for rank in sample.ranks)
            raise NonFiniteLossError(f"candidate {name}, {role} round {round_number}: loss by rank {losses}")
        record = sample.record(
            cell=bench.cell,
            candidate=name,
            role=role,
            round_number=round_number,
            position=position,
            disturbed_pct=self._limit_pct,
        )
        bench.emit("sample.recorded", record)
        self.taken[role] += 1
        self._stopping.take(record)
        return sample


def rotated(names: Sequence[str], turns: int) -> list[str]:
    """The names, beginning `turns` further on, round and round."""
    start = turns % len(names)
    return [*names[start:], *names[:start]]


def require_same_layouts(cell: PreparedCell, groups: Groups) -> str:
    """The digest of the cell's rows and layouts, equal on all ranks.

    Raises:
        RanksDisagreeError: a rank has other rows, or built other layouts of them.

    """
    layouts = [variant.candidate.plain() for variant in cell.variants]
    digest = digest_json({"rows": rows_digest(cell.rows), "layouts": layouts})
    digests = gather_control_text(groups, digest)
    if len(set(digests)) > 1:
        raise RanksDisagreeError(
            f"ranks have different rows or layouts, digests {[each[:12] for each in digests]}; each needs "
            "the same version of the program and the same workload file"
        )
    return digest


def end_report(measurement: CellMeasurement, groups: Groups, layouts: str, began: float) -> dict[str, Any]:
    """What a rank says at the end; all ranks' reports together are the evidence of a measured cell."""
    return {
        "rank": groups.rank,
        "pid": os.getpid(),
        "layouts_digest": layouts,
        "warmup_samples": measurement.taken["warmup"],
        "measured_samples": measurement.taken["measured"],
        "stopped": measurement.stopped,
        "warmup_rounds": measurement.warmup_rounds,
        "collectives": groups.last.sequence,
        "threads": torch.get_num_threads(),
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "wall_s": round(time.monotonic() - began, 3),
    }


def _struck(step: Step, bench: Bench, role: Role, round_number: int) -> Step:
    """The step with a test's fault, if it is due, as the first thing under the clock."""

    def run() -> float:
        bench.faults.strike(role, round_number, bench.model)
        return step()

    return run
