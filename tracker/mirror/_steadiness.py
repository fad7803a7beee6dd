"""How steady the machine was over an attempt: a drift over its rounds, sporadic stalls.

Both rules are those of the views `attempt_drift` and `stalls`, which a test holds these to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import erfc, exp, log, sqrt
from statistics import fmean, median

from harness import stalled
from schemas import SampleRecorded
from tracker._markdown import escape_markdown

LEAST_CHANCE = 0.05
TIE_PCT = 3.0
"""A smaller drift is not worth words. What a campaign registered may be another: it is not in the segment."""
SHOWN = 5
"""Stalls that are told one by one."""
DIGITS = 4
"""Logarithms may differ in their last bits from machine to machine; a run has to be the same on all."""


@dataclass(frozen=True, slots=True)
class Drift:
    """How an attempt's times changed over its rounds.

    Args:
        rounds: with usable samples.
        change_pct: from the first round to the last by the median slope; positive is slower.
        chance: of so ordered a series where nothing drifts (Mann-Kendall, two-sided).
    """

    rounds: int
    change_pct: float
    chance: float

    @property
    def told(self) -> bool:
        """Whether it is more than chance and more than a tie."""
        return self.chance < LEAST_CHANCE and abs(self.change_pct) > TIE_PCT


@dataclass(frozen=True, slots=True)
class Stall:
    """A sample far above its candidate's median.

    Args:
        candidate: its label.
        round: from 0.
        medians: its time over that median.
    """

    candidate: str
    round: int
    medians: float


def find_drift(samples: Sequence[SampleRecorded]) -> Drift | None:
    """The drift over the rounds; None with usable samples of fewer than two.

    Rounds are interleaved, so a drift meets all candidates alike: a round's level is the median over its
    samples of their logarithms less their candidate's mean. Mann (1945), Kendall, Theil and Sen.

    Args:
        samples: of one attempt, in any order.
    """
    own = _usable(samples)
    means = {label: fmean(log(each.ms) for each in times) for label, times in own.items()}
    by_round: dict[int, list[float]] = {}
    for label, times in own.items():
        for each in times:
            by_round.setdefault(each.round, []).append(log(each.ms) - means[label])
    levels = [(number, median(values)) for number, values in sorted(by_round.items())]
    count = len(levels)
    if count < 2:
        return None
    steps = [(late - early, then - now) for (now, early), (then, late) in combinations(levels, 2)]
    ordered = sum((rise > 0) - (rise < 0) for rise, _ in steps)
    slope = median(rise / apart for rise, apart in steps)
    z = max(abs(ordered) - 1, 0) / sqrt(count * (count - 1) * (2 * count + 5) / 18)
    change = (exp(slope * (levels[-1][0] - levels[0][0])) - 1) * 100
    return Drift(count, round(change, DIGITS), round(erfc(z / sqrt(2)), DIGITS))


def find_stalls(samples: Sequence[SampleRecorded]) -> tuple[Stall, ...]:
    """The usable samples that are stalls, in order of rounds and labels.

    Args:
        samples: of one attempt, in any order.
    """
    found: list[Stall] = []
    for label, times in _usable(samples).items():
        middle = median(each.ms for each in times)
        flags = stalled([each.ms for each in times])
        found += [
            Stall(label, each.round, each.ms / middle) for each, far in zip(times, flags, strict=True) if far
        ]
    return tuple(sorted(found, key=lambda each: (each.round, each.candidate)))


def steadiness_label(drift: Drift | None, stalls: Sequence[Stall]) -> str:
    """In a few words for a column: what stands out, empty where nothing does."""
    parts = [f"drift {drift.change_pct:+.0f}%"] if drift is not None and drift.told else []
    if stalls:
        parts.append(f"{len(stalls)} stall{'s' if len(stalls) != 1 else ''}")
    return ", ".join(parts)


def steadiness_words(drift: Drift | None, stalls: Sequence[Stall]) -> str:
    """What stands out and what it means, Markdown; empty where nothing does."""
    parts: list[str] = []
    if drift is not None and drift.told:
        way = "slower" if drift.change_pct > 0 else "faster"
        parts.append(
            f"**Drift:** everything ran {abs(drift.change_pct):.0f}% {way} in the last of the {drift.rounds} "
            f"rounds than in the first; where nothing drifts, chance orders {drift.chance * 100:.1f}% of "
            "attempts so. Candidates take turns: it meets all of them alike and hardly their comparison."
        )
    if stalls:
        shown = [
            f"{escape_markdown(each.candidate)} in round {each.round} ({each.medians:.1f} times)"
            for each in stalls[:SHOWN]
        ]
        more = f" and {len(stalls) - SHOWN} more" if len(stalls) > SHOWN else ""
        parts.append(
            f"**Stalls:** {len(stalls)} sample{'s' if len(stalls) != 1 else ''} far above the median of the "
            f"candidate: {', '.join(shown)}{more}. They stay usable: a median hardly sees them."
        )
    return "\n\n".join(parts)


def _usable(samples: Sequence[SampleRecorded]) -> Mapping[str, list[SampleRecorded]]:
    own: dict[str, list[SampleRecorded]] = {}
    for sample in samples:
        if sample.role == "measured" and sample.usable and sample.ms > 0:
            own.setdefault(sample.candidate, []).append(sample)
    return own
