"""A sample over all ranks: what each saw, agreed over the control group, and whether it may be used."""

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from harness._comm import Groups, gather_control
from harness._timer import NS_PER_TICK, LocalSample
from schemas import SampleRecorded

Role = Literal["warmup", "measured"]


@dataclass(frozen=True, slots=True)
class JointSample:
    """One sample as every rank saw it, by rank; the same on all ranks."""

    ranks: tuple[LocalSample, ...]

    @property
    def ms(self) -> float:
        """Milliseconds of the slowest rank."""
        return max(rank.wall_ns for rank in self.ranks) / 1e6

    @property
    def compile_events(self) -> int:
        """Compilations on all ranks together."""
        return sum(rank.compile_events for rank in self.ranks)

    @property
    def run_delay_pct(self) -> tuple[float, ...]:
        """A rank's scheduler run delay over its wall time, in percent."""
        return tuple(round(100 * rank.delay_ns / max(1, rank.wall_ns), 3) for rank in self.ranks)

    @property
    def steal_pct(self) -> float:
        """The host's steal over wall time, in percent of one processor; a single tick counts as none."""
        return max(100 * max(0, rank.steal_ns - NS_PER_TICK) / max(1, rank.wall_ns) for rank in self.ranks)

    @property
    def finite(self) -> bool:
        """Whether every rank's loss is a number."""
        return all(math.isfinite(rank.loss) for rank in self.ranks)

    def fault(self, role: Role, disturbed_pct: float) -> str | None:
        """Why the sample is not usable, or None."""
        if role == "warmup":
            return "warm-up"
        if self.compile_events:
            return f"compiled: {self.compile_events} compilations during the sample"
        for what, share in (
            ("a rank waited for a processor", max(self.run_delay_pct)),
            ("the host took a processor away", self.steal_pct),
        ):
            if share > disturbed_pct:
                return f"disturbed: {what} {share:.1f}% of the time, limit {disturbed_pct:g}%"
        return None

    def record(
        self, *, cell: str, candidate: str, role: Role, round_number: int, position: int, disturbed_pct: float
    ) -> SampleRecorded:
        """The sample as the ledger keeps it."""
        reason = self.fault(role, disturbed_pct)
        return SampleRecorded(
            cell=cell,
            candidate=candidate,
            role=role,
            round=round_number,
            position=position,
            ms=self.ms,
            ms_ranks=tuple(rank.wall_ns / 1e6 for rank in self.ranks),
            compile_events=self.compile_events,
            run_delay_pct=self.run_delay_pct,
            loss=self.ranks[0].loss,
            usable=reason is None,
            reason=reason,
        )


def delay_limit_pct(disturbed_pct: float, ranks: int, processors: int) -> float:
    """The run delay above which a sample is disturbed, in percent of its wall time.

    Where ranks share processors by design they wait for one another, and that is no disturbance: four ranks
    on two processors each lack one for as long as they have one.
    """
    return disturbed_pct + 100 * max(0.0, ranks / max(1, processors) - 1)


def join(local: LocalSample, groups: Groups) -> JointSample:
    """Gather a sample over all ranks; a collective, so every rank must come."""
    mine = [local.wall_ns, local.delay_ns, local.steal_ns, local.compile_events, _bits(local.loss)]
    return JointSample(tuple(_local(values) for values in gather_control(groups, mine)))


def _local(values: Sequence[int]) -> LocalSample:
    *times, compiled, bits = values
    return LocalSample(*times, compiled, struct.unpack("<d", struct.pack("<q", bits))[0])


def _bits(value: float) -> int:
    """A double as the integer of the same bits: control messages are integers."""
    return struct.unpack("<q", struct.pack("<d", value))[0]
