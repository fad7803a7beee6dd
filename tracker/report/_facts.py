"""What a report tells, gathered from events: a pure value."""

from collections.abc import Sequence
from dataclasses import dataclass

from schemas import (
    CellJudged,
    Event,
    FitAnalysed,
    FitCompleted,
    Gates,
    HoldoutRule,
    InvalidInputError,
    Protocol,
)
from tracker._payloads import payloads


@dataclass(frozen=True, slots=True)
class FitFacts:
    """A fit: its segment id, its verdict, and how well its table is known where that was recorded."""

    id: str
    result: FitCompleted
    analysed: FitAnalysed | None


@dataclass(frozen=True, slots=True)
class Decision:
    """Something that was decided after the fit: a certificate, a review, a version, a move of an alias."""

    time: str
    what: str
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReportFacts:
    """A campaign as its report tells it.

    Args:
        campaign: its name.
        title: what it is about.
        table_id: what its table is called.
        manifest_digest: of the registered manifest.
        opened: when that was, RFC 3339, UTC.
        first_sample: when the first sample was recorded; None where there is none or all are imported.
        protocol, holdout, gates: as registered.
        cells: every cell, as the fit saw it, or as it is now where there is no fit.
        fit: the fit that is told of, if any.
        segments_since: evidence segments that came after the fit.
        decisions: in order; none in the report of a fit's run, which was made before any.
    """

    campaign: str
    title: str
    table_id: str
    manifest_digest: str
    opened: str
    first_sample: str | None
    protocol: Protocol
    holdout: HoldoutRule
    gates: Gates
    cells: tuple[CellJudged, ...]
    fit: FitFacts | None
    segments_since: int = 0
    decisions: tuple[Decision, ...] = ()


def facts_of_events(events: Sequence[Event]) -> ReportFacts:
    """The facts of one fit's segment.

    Raises:
        InvalidInputError: the segment holds no analysed fit, or an event's data is not what its type says.
    """
    results = [result for _, result in payloads(events, "fit.completed", FitCompleted)]
    analyses = [analysed for _, analysed in payloads(events, "fit.analysed", FitAnalysed)]
    if not results or not analyses:
        raise InvalidInputError(
            "the segment holds no fit with its analysis; no report can be made of it alone"
        )
    result, analysed = results[-1], analyses[-1]
    subject = events[0].subject
    return ReportFacts(
        campaign=subject["campaign"],
        title=analysed.title,
        table_id=result.table_id,
        manifest_digest=result.manifest_digest,
        opened=analysed.opened,
        first_sample=analysed.first_sample,
        protocol=analysed.protocol,
        holdout=analysed.holdout,
        gates=analysed.gates,
        cells=tuple(cell for _, cell in payloads(events, "fit.cell_judged", CellJudged)),
        fit=FitFacts(subject["segment"], result, analysed),
    )
