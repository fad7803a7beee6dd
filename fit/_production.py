"""Times seen in production beside what the version predicted of them.

A table prices the differences of layouts; a common part may be missing from its predictions. So nothing here
reads a ratio of seen to predicted by itself: it is compared with the same ratio at another time, or of
another layout, of the same table on the same shape.
"""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import hypot, inf
from typing import TypeVar

from fit._drift import Move, chance_of
from fit._noise import MEDIAN_EFFICIENCY
from fit._pairs import NOISE_SIGMAS

Key = TypeVar("Key", str, tuple[str, str])

QUARTILES_IN_SIGMAS = 1.349
"""Distance of the quartiles of a normal population in standard deviations; outliers do not move it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One step of a trainer.

    Args:
        place: what may be compared with each other: version, table, and cell or parallel shape.
        layout: label of the layout that ran.
        ms: its time.
        predicted_ms: what the version said of it; above zero.
        later: whether it was seen after the change that is looked at.
        batch: digest of the batch's prefix tree, None where it was not told.
        selected: label of the selected layout where another was run on purpose, else None.
    """

    place: str
    layout: str
    ms: float
    predicted_ms: float
    later: bool
    batch: str | None = None
    selected: str | None = None

    @property
    def ratio(self) -> float:
        """Seen over predicted."""
        return self.ms / self.predicted_ms


@dataclass(frozen=True, slots=True)
class LayoutRatio:
    """How a layout's times lie to their predictions, against the place's other layouts.

    Args:
        layout: its label.
        steps: how many.
        beside: its ratio of seen to predicted over that of the other layouts together.
    """

    layout: str
    steps: int
    beside: Move


@dataclass(frozen=True, slots=True)
class PlaceDrift:
    """One table on one cell or shape in production.

    Args:
        place: which.
        steps: how many were seen.
        ratio: median of seen over predicted.
        change: that ratio after the change over the one before it; None where one side has no step.
        earlier: steps before the change.
        layouts: each layout beside the others, by label; none where only one ran.
    """

    place: str
    steps: int
    ratio: float
    change: Move | None
    earlier: int
    layouts: tuple[LayoutRatio, ...]


@dataclass(frozen=True, slots=True)
class Alternative:
    """A selected layout beside one that was run instead on purpose, on the same batches.

    Args:
        place: which table, where.
        selected: label of the selected layout.
        tried: label of the other.
        batches: batches that ran under both.
        gain: time of the selected over that of the other, percent; above zero the other was faster.
    """

    place: str
    selected: str
    tried: str
    batches: int
    gain: Move


def place_drifts(steps: Iterable[Seen]) -> tuple[PlaceDrift, ...]:
    """What production saw, by place."""
    return tuple(_place(name, group) for name, group in _grouped(steps, lambda step: step.place))


def alternatives(steps: Iterable[Seen]) -> tuple[Alternative, ...]:
    """Each selected layout beside one that was tried instead, over the batches that ran under both."""
    found: dict[tuple[str, str, str], list[float]] = {}
    told = [step for step in steps if step.batch is not None]
    for (place, _), group in _grouped(told, lambda step: (step.place, str(step.batch))):
        for selected, tried in sorted({(s.selected, s.layout) for s in group if s.selected is not None}):
            ours = [step.ms for step in group if step.layout == selected]
            theirs = [step.ms for step in group if step.layout == tried]
            if ours:
                gain = statistics.median(ours) / statistics.median(theirs)
                found.setdefault((place, str(selected), tried), []).append(gain)
    return tuple(
        Alternative(place, selected, tried, len(gains), _above_one(tried, gains))
        for (place, selected, tried), gains in sorted(found.items())
    )


def _place(name: str, steps: Sequence[Seen]) -> PlaceDrift:
    earlier = [step.ratio for step in steps if not step.later]
    later = [step.ratio for step in steps if step.later]
    layouts = _grouped(steps, lambda step: step.layout)
    return PlaceDrift(
        place=name,
        steps=len(steps),
        ratio=statistics.median(step.ratio for step in steps),
        change=_over(name, later, earlier) if earlier and later else None,
        earlier=len(earlier),
        layouts=tuple(_beside(label, group, steps) for label, group in layouts) if len(layouts) > 1 else (),
    )


def _beside(label: str, group: Sequence[Seen], steps: Sequence[Seen]) -> LayoutRatio:
    others = [step.ratio for step in steps if step.layout != label]
    return LayoutRatio(label, len(group), _over(label, [step.ratio for step in group], others))


def _over(name: str, values: Sequence[float], base: Sequence[float]) -> Move:
    """The median of values over that of a base."""
    change = (statistics.median(values) / statistics.median(base) - 1) * 100
    error = hypot(_error_pct(values), _error_pct(base))
    return Move(name, change, NOISE_SIGMAS * error, chance_of(error, len(values) + len(base) - 2))


def _above_one(name: str, ratios: Sequence[float]) -> Move:
    """The median of ratios, as a change from one."""
    error = _error_pct(ratios)
    change = (statistics.median(ratios) - 1) * 100
    return Move(name, change, NOISE_SIGMAS * error, chance_of(error, len(ratios) - 1))


def _grouped(steps: Iterable[Seen], key: Callable[[Seen], Key]) -> list[tuple[Key, list[Seen]]]:
    """The steps by key, keys ascending."""
    groups: dict[Key, list[Seen]] = {}
    for step in steps:
        groups.setdefault(key(step), []).append(step)
    return [(name, groups[name]) for name in sorted(groups)]


def _error_pct(values: Sequence[float]) -> float:
    """Standard error of a median, percent of it, from the quartiles."""
    if len(values) < 2:
        return inf
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return MEDIAN_EFFICIENCY * (high - low) / QUARTILES_IN_SIGMAS / len(values) ** 0.5 / middle * 100
