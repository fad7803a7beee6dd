"""What the log says of versions, aliases and reviews: the registry itself forgets."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from schemas import (
    AliasMoved,
    Event,
    HoldPlaced,
    HoldReleased,
    Record,
    ReviewRecorded,
    Unit,
    VersionRegistered,
)
from tracker._payloads import payloads
from tracker.log import Log, iter_segment, read_segment

Kind = TypeVar("Kind", bound=Record)


@dataclass(frozen=True, slots=True)
class Recorded(Generic[Kind]):
    """A recorded fact, with when it was and where it stands."""

    time: str
    campaign: str
    segment: str
    fact: Kind


def registrations(log: Log) -> tuple[Recorded[VersionRegistered], ...]:
    """Every registered version, in order."""
    return tuple(_facts(log, Unit.REGISTRATION, "version.registered", VersionRegistered))


def alias_moves(log: Log, alias: str | None = None) -> tuple[Recorded[AliasMoved], ...]:
    """Every move of an alias, or of all, in order."""
    moves = _facts(log, Unit.PROMOTION, "alias.moved", AliasMoved)
    return tuple(move for move in moves if alias in (None, move.fact.alias))


def reviews(log: Log, certificate: str) -> tuple[Recorded[ReviewRecorded], ...]:
    """Each person's last word on each aspect of a certificate, in order."""
    standing: dict[tuple[str, str], Recorded[ReviewRecorded]] = {}
    for review in _facts(log, Unit.REVIEW, "review.recorded", ReviewRecorded):
        if review.fact.certificate == certificate:
            standing[review.fact.aspect, review.fact.by] = review
    return tuple(sorted(standing.values(), key=lambda review: (review.segment, review.time)))


def hold_events(
    log: Log,
) -> tuple[tuple[Recorded[HoldPlaced], ...], tuple[Recorded[HoldReleased], ...]]:
    """Every hold that was placed, and every release, in order."""
    placed = tuple(_facts(log, Unit.REVIEW, "hold.placed", HoldPlaced))
    return placed, tuple(_facts(log, Unit.REVIEW, "hold.released", HoldReleased))


def _facts(log: Log, unit: Unit, name: str, kind: type[Kind]) -> Iterator[Recorded[Kind]]:
    for event, fact in payloads(unit_events(log, unit), name, kind):
        yield Recorded(event.time, event.subject["campaign"], event.subject["segment"], fact)


def unit_events(log: Log, unit: Unit) -> Iterator[Event]:
    """The events of all sealed segments of a unit, in order of the segments' opening.

    Raises:
        CorruptionError: a segment does not verify.
    """
    for place in sorted(log.segments(), key=lambda place: place.segment):
        first = next(iter_segment(place.path))
        if first.data.get("unit") == unit.value:
            yield from read_segment(place.path)
