"""One attempt while it is open: what the ranks said is appended, and the end is judged by what is missing."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal

from harness._failure import Verdict, judge
from harness._launch import CellOutcome
from harness._recorder import Attempt
from harness._stopping import Stopping
from schemas import (
    AUTOMATIC,
    PAYLOADS,
    CellCompleted,
    CellFailed,
    CellPlan,
    CellStarted,
    Protocol,
    Record,
    SampleRecorded,
)

State = Literal["started", "measuring", "completed", "failed"]
Tell = Callable[[State, int, int, str], None]

_DURABLE_EVERY_S = 1.0
_DURABLE_EVERY_EVENTS = 100


class OpenAttempt:
    """Appends to an attempt and counts; `tell` gets state, samples so far, samples expected, message."""

    def __init__(
        self,
        attempt: Attempt,
        cell: str,
        protocol: Protocol,
        tell: Tell,
    ) -> None:
        self._attempt = attempt
        self._cell = cell
        self._protocol = protocol
        self._tell = tell
        self._stopping = Stopping(protocol, ())
        self._past_end = False
        self._warmups = 0
        self._names: tuple[str, ...] = ()
        self._since_durable = 0
        self._begin = self._last_durable = time.monotonic()

    def start(self, plan: CellPlan, number: int, engine: str, environment: Mapping[str, Any]) -> None:
        """Record who measures what, on which machine."""
        started = CellStarted(
            cell=self._cell,
            identity=plan.identity,
            number=number,
            engine=engine,
            environment=dict(environment),
        )
        self._append("cell.started", started, durable=True)
        self._tell("started", 0, 0, "")

    def take(self, type_: str, data: dict[str, Any]) -> None:
        """Record an event that the ranks sent."""
        record = PAYLOADS[type_].parse(data, where=f"worker of {self._cell}, {type_}")
        if type_ == "cell.described":
            self._describe(data)
            self._append(type_, record, durable=True)
            return
        if isinstance(record, SampleRecorded):
            self._count(record)
        self._append(type_, record, durable=self._due())
        self._tell("measuring", self._measured.total(), self._expected, "")

    def _count(self, sample: SampleRecorded) -> None:
        if sample.role == "warmup":
            self._warmups += 1
            return
        # Between rounds alone: a rule that has ended the attempt lets no further round begin.
        whole = len(set(self._stopping.measured.values())) == 1
        self._past_end |= (
            whole and self._protocol.adaptive is not None and self._stopping.reason() is not None
        )
        self._stopping.take(sample)

    def finish(self, outcome: CellOutcome, limit_s: float) -> Verdict | None:
        """Record how the attempt ended, and seal it; why it failed, or None."""
        verdict = self._verdict(outcome, limit_s)
        if verdict is None:
            completed = CellCompleted(
                cell=self._cell,
                usable={name: self._usable[name] for name in self._names},
                rank_reports=tuple(outcome.reports[rank] for rank in sorted(outcome.reports)),
                wall_s=round(time.monotonic() - self._begin, 3),
                end=self._stopping.adaptive_end(),
            )
            self._append("cell.completed", completed, durable=True)
        else:
            failed = CellFailed(
                cell=self._cell,
                kind=verdict.kind,
                message=verdict.message,
                exit_codes=tuple(outcome.exit_codes),
                last_collectives=outcome.last_collectives,
                log_tail=outcome.log_tail,
                samples=self._measured.total(),
            )
            self._append("cell.failed", failed, durable=True)
        self._attempt.seal()
        state: State = "failed" if verdict else "completed"
        self._tell(state, self._measured.total(), self._expected, verdict.message if verdict else "")
        return verdict

    @property
    def _expected(self) -> int:
        return len(self._names) * self._protocol.rounds

    def _describe(self, data: Mapping[str, Any]) -> None:
        own = () if len(data["automatic"]["labels"]) > 1 else (AUTOMATIC,)
        self._names = (*(candidate["label"] for candidate in data["candidates"]), *own)
        self._stopping = Stopping(self._protocol, self._names)

    def _verdict(self, outcome: CellOutcome, limit_s: float) -> Verdict | None:
        if outcome.reason is not None:
            return outcome.reason
        if outcome.interrupted:
            return Verdict("interrupted", "the runner was told to stop")
        if outcome.timed_out:
            waiting = "; ".join(outcome.last_collectives)
            return Verdict("timeout", f"not done after {limit_s:g} s; last collectives: {waiting}")
        return judge(
            outcome.exit_codes,
            outcome.failures,
            reports=len(outcome.reports),
            started=outcome.started,
            missing=self._missing(outcome),
        )

    def _missing(self, outcome: CellOutcome) -> str:
        """What lacks of the expected samples; empty when nothing does."""
        if not self._names:
            return "the ranks never described the cell"
        short = [
            f"{name}: {self._measured[name]} measured, {self._usable[name]} usable"
            for name in self._names
            if self._measured[name] < self._least_rounds or self._usable[name] < self._protocol.required
        ]
        if short:
            return f"samples are missing ({'; '.join(short)})"
        if wrong := self._wrong_end(outcome):
            return wrong
        for rank, report in sorted(outcome.reports.items()):
            told = (report["measured_samples"], report["warmup_samples"])
            if told != (self._measured.total(), self._warmups):
                return (
                    f"rank {rank} reports {told[0]} measured and {told[1]} warm-up samples, "
                    f"{self._measured.total()} and {self._warmups} arrived"
                )
        return ""

    @property
    def _least_rounds(self) -> int:
        """Rounds without which no attempt is complete; an adaptive rule says itself whether more were due."""
        return self._protocol.required if self._protocol.adaptive else self._protocol.rounds

    def _wrong_end(self, outcome: CellOutcome) -> str:
        """Where an adaptive attempt did not end as its own rule has it; empty where it did."""
        if self._protocol.adaptive is None:
            return ""
        reason, rounds = self._stopping.reason(), self._stopping.rounds
        if reason is None or self._past_end or set(self._measured.values()) != {rounds}:
            what = "already had" if self._past_end else "had not"
            return f"after {rounds} rounds the adaptive rule {what} ended the attempt"
        told = {rank: report.get("stopped") for rank, report in outcome.reports.items()}
        wrong = sorted(rank for rank, said in told.items() if said != reason)
        return (
            f"rank {wrong[0]} reports that it stopped by {told[wrong[0]]}, not by {reason}" if wrong else ""
        )

    @property
    def _measured(self) -> Counter[str]:
        return self._stopping.measured

    @property
    def _usable(self) -> Counter[str]:
        return self._stopping.usable

    def _due(self) -> bool:
        """Samples are on disk at most a second or 100 events after they were taken."""
        waited = time.monotonic() - self._last_durable
        return waited >= _DURABLE_EVERY_S or self._since_durable + 1 >= _DURABLE_EVERY_EVENTS

    def _append(self, type_: str, record: Record, *, durable: bool) -> None:
        self._attempt.append(type_, record.plain(), durable=durable)
        self._since_durable += 1
        if durable:
            self._since_durable, self._last_durable = 0, time.monotonic()
