"""The parts that every unit's description is made of."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from schemas import Event
from tracker.mlflow_store import MetricPoint

FINISHED, FAILED, KILLED = "FINISHED", "FAILED", "KILLED"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Told:
    """A unit of work in words and numbers; `note` is Markdown, everything from evidence escaped."""

    name: str
    verdict: str
    status: str = FINISHED
    note: str = ""
    params: Mapping[str, str] = field(default_factory=dict[str, str])
    metrics: Sequence[MetricPoint] = ()
    texts: Mapping[str, str] = field(default_factory=dict[str, str])


def point(event: Event, key: str, value: float, step: int = 0) -> MetricPoint:
    """A metric's value at the time of the event."""
    return MetricPoint(key, step, milliseconds(event.time), float(value))


def milliseconds(time: str) -> int:
    """An event's time in whole milliseconds since 1970."""
    passed = datetime.fromisoformat(time) - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1000 + passed.microseconds // 1000


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Rows in the form that MLflow's page shows as a table."""
    return json.dumps({"columns": list(columns), "data": [list(row) for row in rows]}, ensure_ascii=False)
