"""One attempt while it is open: what the ranks said is appended, and the end is judged by what is missing."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal

from harness._failure import Verdict, judge
from harness._launch import CellOutcome
from harness._recorder import Attempt
from schemas import (
    AUTOMATIC,
    PAYLOADS,
    CellCompleted,
    CellFailed,
    CellPlan,
    CellStarted,
    Protocol,
    Record,
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
        self._measured: Counter[str] = Counter()
        self._usable: Counter[str] = Counter()
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
        if data["role"] == "measured":
            self._measured[data["candidate"]] += 1
            self._usable[data["candidate"]] += bool(data["usable"])
        else:
            self._warmups += 1
        self._append(type_, record, durable=self._due())
        self._tell("measuring", self._measured.total(), self._expected, "")

    def finish(self, outcome: CellOutcome, limit_s: float) -> Verdict | None:
        """Record how the attempt ended, and seal it; why it failed, or None."""
        verdict = self._verdict(outcome, limit_s)
        if verdict is None:
            completed = CellCompleted(
                cell=self._cell,
                usable={name: self._usable[name] for name in self._names},
                rank_reports=tuple(outcome.reports[rank] for rank in sorted(outcome.reports)),
                wall_s=round(time.monotonic() - self._begin, 3),
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

    def _verdict(self, outcome: CellOutcome, limit_s: float) -> Verdict | None:
        if outcome.reason is not None:
            return outcome.reason
        if outcome.reason is not None:
            return outcome.reason
        if outcome.reason is not None:
            return outcome.reason
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
            if self._measured[name] < self._protocol.rounds or self._usable[name] < self._protocol.required
        ]
        if short:
            return f"samples are missing ({'; '.join(short)})"
        for rank, report in sorted(outcome.reports.items()):
            told = (report["measured_samples"], report["warmup_samples"])
            if told != (self._measured.total(), self._warmups):
                return (
                    f"rank {rank} reports {told[0]} measured and {told[1]} warm-up samples, "
                    f"{self._measured.total()} and {self._warmups} arrived"
                )
        return ""

    def _due(self) -> bool:
        """Samples are on disk at most a second or 100 events after they were taken."""
        waited = time.monotonic() - self._last_durable
        return waited >= _DURABLE_EVERY_S or self._since_durable + 1 >= _DURABLE_EVERY_EVENTS

    def _append(self, type_: str, record: Record, *, durable: bool) -> None:
        self._attempt.append(type_, record.plain(), durable=durable)
        self._since_durable += 1
        if durable:
            self._since_durable, self._last_durable = 0, time.monotonic()
