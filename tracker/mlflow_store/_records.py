"""What the tracking store holds, as plain records: nothing outside this package sees an MLflow object."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from schemas import LayoutLedgerError


class SealedError(LayoutLedgerError):
    """The embedded store refused a change to a sealed run or version."""

    exit_code = 6


@dataclass(frozen=True, slots=True, order=True)
class MetricPoint:
    """One value of a metric; `timestamp` in milliseconds since 1970, `step` the round where there is one."""

    key: str
    step: int
    timestamp: int
    value: float


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as the store tells it; times in milliseconds since 1970, `metrics` the latest value of each.

    `artifacts` is the address of its files.
    """

    run_id: str
    name: str
    status: str
    start: int | None
    end: int | None
    deleted: bool
    artifacts: str = ""
    params: Mapping[str, str] = field(default_factory=dict[str, str])
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class VersionView:
    """A version of a registered model as the store tells it."""

    version: int
    description: str
    source: str
    tags: Mapping[str, str]
    aliases: tuple[str, ...]
