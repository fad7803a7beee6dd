"""Samples of a calibration file: which count, and which do not and why; medians by our own rule."""

import math
import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from schemas import Features, ImportedCandidate, InvalidInputError

SampleKind = Literal["usable", "warmup", "compiled", "split", "refused"]
"""Refused: admission did not let it run; split: in several subforwards; compiled: something compiled."""

ROLES = ("warmup", "measured")
COMPILE_FREE = "none"


@dataclass(slots=True)
class CandidateSamples:
    """What a file holds of one candidate.

    Args:
        counts: samples by kind.
        times_ms: of the usable ones: maximum over ranks, milliseconds.
        messages: why admission refused, each text once.
    """

    counts: Counter[SampleKind] = field(default_factory=Counter[SampleKind])
    times_ms: list[float] = field(default_factory=list[float])
    messages: set[str] = field(default_factory=set[str])

    def add(self, row: Mapping[str, Any], where: str) -> None:
        """Count one sample.

        Raises:
            InvalidInputError: a role or a time that is none.
        """
        kind = sample_kind(row, where)
        self.counts[kind] += 1
        if kind == "refused":
            self.messages.add(str(row.get("message", "")))
        if kind == "usable":
            self.times_ms.append(_milliseconds(row, where))

    def aggregate(self, label: str, features: Features) -> ImportedCandidate:
        """Median and spread of the usable samples, as the ledger has them of its own; at least one sample."""
        median = statistics.median(self.times_ms)
        return ImportedCandidate(
            label=label,
            features=features,
            median_ms=median,
            n=len(self.times_ms),
            spread_pct=(max(self.times_ms) - min(self.times_ms)) / median * 100,
        )

    def lacking(self) -> str:
        """Why there is no usable sample."""
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(self.counts.items())) or "no sample"
        return "; ".join([told, *sorted(message for message in self.messages if message)])


def sample_kind(row: Mapping[str, Any], where: str) -> SampleKind:
    """What a sample is; only a usable one enters a median.

    Raises:
        InvalidInputError: another role.
        KeyError: a field is missing.
    """
    role = row["role"]
    if role not in ROLES:
        raise InvalidInputError(f"{where}: role is {role!r}; known: {', '.join(ROLES)}")
    if row.get("admission_failed"):
        return "refused"
    if role == "warmup":
        return "warmup"
    if int(row["subforward_count"]) != 1:
        return "split"
    statuses = row["compile_statuses"]
    if not isinstance(statuses, list):
        raise InvalidInputError(f"{where}: compile_statuses is {statuses!r}, not a list")
    compile_free = all(status == COMPILE_FREE for status in cast("list[object]", statuses))
    return "usable" if compile_free else "compiled"


def _milliseconds(row: Mapping[str, Any], where: str) -> float:
    value = row["ms_max_rank"]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise InvalidInputError(f"{where}: ms_max_rank is {value!r}, not a time in milliseconds")
    return float(value)
