"""When the measured rounds of a cell end: the protocol's rule, fed with samples and asked after each round.

The ranks ask it to measure, and the runner asks it again of what arrived: an attempt that ended under an
adaptive protocol is believed only if the rule ends it there.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from harness._curtail import standing
from harness._stall import stalled
from schemas import AdaptiveEnd, AdaptiveStop, Protocol, SampleRecorded

Reason = Literal["rounds", "separated", "budget", "too_few"]

REASONS: tuple[Reason, ...] = ("rounds", "separated", "budget", "too_few")
"""All rounds were run (fixed protocol); separated, or all were run (adaptive); usable samples lack."""


@dataclass(frozen=True, slots=True)
class _Usable:
    candidate: str
    round: int
    ms: float


class Stopping:
    """The rule of one attempt, and what it has seen.

    Args:
        protocol: rounds, required samples, extra rounds, and the adaptive rule if there is one.
        names: the candidates that are timed.

    """

    def __init__(self, protocol: Protocol, names: Sequence[str]) -> None:
        self._protocol = protocol
        self._names = tuple(names)
        self._samples: list[_Usable] = []
        self.measured: Counter[str] = Counter(dict.fromkeys(self._names, 0))
        self.usable: Counter[str] = Counter(dict.fromkeys(self._names, 0))

    def take(self, sample: SampleRecorded) -> None:
        """See a measured sample; warm-ups are no concern of this rule."""
        if sample.role != "measured":
            return
        self.measured[sample.candidate] += 1
        if sample.usable:
            self.usable[sample.candidate] += 1
            self._samples.append(_Usable(sample.candidate, sample.round, sample.ms))

    @property
    def rounds(self) -> int:
        """Rounds that every candidate has run."""
        return min(self.measured.values(), default=0)

    @property
    def lacking(self) -> tuple[str, ...]:
        """Candidates that have fewer usable samples than are required."""
        return tuple(name for name in self._names if self.usable[name] < self._protocol.required)

    def reason(self) -> Reason | None:
        """Why no round follows, or None if one does; asked between rounds."""
        protocol, done = self._protocol, self.rounds
        if done < protocol.rounds:
            early = protocol.adaptive is not None and self._settled(protocol.adaptive, protocol.rounds - done)
            return "separated" if early else None
        if not self.lacking:
            return "rounds" if protocol.adaptive is None else "budget"
        left = protocol.rounds + protocol.extra_rounds - done
        hopeless = min(self.usable.values()) + left < protocol.required
        return "too_few" if hopeless else None

    def adaptive_end(self) -> AdaptiveEnd | None:
        """What an attempt under an adaptive protocol records of its end; None under a fixed one."""
        reason = self.reason()
        if reason != "separated" and reason != "budget":
            return None
        times: dict[str, list[float]] = {name: [] for name in self._names}
        for sample in self._samples:
            times[sample.candidate].append(sample.ms)
        return AdaptiveEnd(
            reason=reason,
            rounds=self.rounds,
            saved=max(0, self._protocol.rounds - self.rounds),
            fastest=min(self._names, key=lambda name: median(times[name])),
        )

    def _settled(self, rule: AdaptiveStop, left: int) -> bool:
        if self.lacking:
            return False
        found = standing(
            self._by_round(), self._names, left=left, tie_pct=rule.tie_pct, error_pct=rule.error_pct
        )
        return not found.undecided

    def _by_round(self) -> list[dict[str, float]]:
        """Usable times by round; stalls left out, which tell nothing of the candidate that they met."""
        rows: dict[int, dict[str, float]] = {}
        for name in self._names:
            own = [sample for sample in self._samples if sample.candidate == name]
            flags = stalled([sample.ms for sample in own])
            for sample, stall in zip(own, flags, strict=True):
                if not stall:
                    rows.setdefault(sample.round, {})[name] = sample.ms
        return [rows[number] for number in sorted(rows)]
