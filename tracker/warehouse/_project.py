"""From a segment's verified events to its table: one row a line, typed columns."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from schemas import (
    PAYLOADS,
    CampaignOpened,
    CellDescribed,
    CellImported,
    CellStarted,
    Event,
    InvalidInputError,
    Manifest,
    Record,
    SampleRecorded,
)
from tracker.log import SegmentPath, read_segment
from tracker.warehouse._arrow import Table, arrow
from tracker.warehouse._columns import LINES

SAMPLE = "sample.recorded"

Row = dict[str, Any]

_SAMPLES = TypeAdapter(list[SampleRecorded])


def project_segment(place: SegmentPath) -> Table:
    """The table of a sealed segment, every line verified before it is taken.

    Args:
        place: the segment's file.

    Raises:
        CorruptionError: the segment does not verify.
        InvalidInputError: an event's payload is not what its type says, or is newer than this program.

    """
    return project_events(read_segment(place.path), place)


def project_events(events: Sequence[Event], place: SegmentPath) -> Table:
    """The table of these events; see `project_segment`."""
    _check_samples(events, place)
    unit = str(events[0].data.get("unit", "unknown")) if events else "unknown"
    facts = [{} if event.type == SAMPLE else _fact(event, place) for event in events]
    columns = {
        "campaign": [place.campaign] * len(events),
        "segment": [place.segment] * len(events),
        "unit": [unit] * len(events),
        **_envelopes(events),
    }
    try:
        arrays = [
            _samples(events) if field.name == "sample" else _array(field, columns, facts) for field in LINES
        ]
    except (arrow.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"{place.path}: a payload does not fit its columns: {error}") from error
    return arrow.Table.from_arrays(arrays, schema=LINES)


def _envelopes(events: Sequence[Event]) -> dict[str, list[Any]]:
    """The columns that every line has."""
    return {
        "seq": [event.seq for event in events],
        "id": [event.id for event in events],
        "type": [event.type for event in events],
        "version": [event.version for event in events],
        # The log's times end in Z; the column is in UTC.
        "time": [datetime.fromisoformat(event.time[:-1]) for event in events],
        "host": [event.source.host for event in events],
        "pid": [event.source.pid for event in events],
        "tool": [event.source.tool for event in events],
        "subject": _subjects(events),
        "digest": [bytes.fromhex(event.digest) for event in events],
        "cell": [event.data.get("cell", event.subject.get("cell")) for event in events],
    }


def _subjects(events: Sequence[Event]) -> list[str]:
    """As JSON, spelled once for lines in a row about the same."""
    texts: list[str] = []
    last, text = dict[str, str](), ""
    for event in events:
        if event.subject is not last:
            last, text = event.subject, _text(event.subject)
        texts.append(text)
    return texts


def _array(field: Any, columns: dict[str, list[Any]], facts: Sequence[Row]) -> Any:
    values = columns.get(field.name)
    if values is None:
        values = [fact.get(field.name) for fact in facts]
    return arrow.array(values, type=field.type)


def _samples(events: Sequence[Event]) -> Any:
    """The column of samples, put together from its fields: several times as fast as from a dict each."""
    kind = LINES.field("sample").type
    samples = [event.data if event.type == SAMPLE else None for event in events]
    fields = [
        arrow.array([None if data is None else data.get(field.name) for data in samples], type=field.type)
        for field in kind
    ]
    missing = arrow.array([data is None for data in samples], type=arrow.bool_())
    return arrow.StructArray.from_arrays(fields, fields=list(kind), mask=missing)


def _fact(event: Event, place: SegmentPath) -> Row:
    """What a line that is no sample has beside its envelope."""
    return {"data": _text(event.data), **_typed(_payload(event, place))}


def _check_samples(events: Sequence[Event], place: SegmentPath) -> None:
    """Refuse a sample that is none, naming its line; all at once takes half the time where all are right."""
    try:
        _SAMPLES.validate_python([event.data for event in events if event.type == SAMPLE])
    except ValidationError:
        for event in events:
            if event.type == SAMPLE:
                _payload(event, place)


def _payload(event: Event, place: SegmentPath) -> Record | None:
    """The payload as its type's record: what is no such record would be counted wrong, so it is refused."""
    kind = PAYLOADS.get(event.type)
    if kind is None:
        return None
    return kind.parse(event.data, where=f"{place.path}: line {event.seq + 1}: {event.type}")


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _expected(manifest: Manifest) -> Row:
    """Keys and holdout as the manifest's own rule gives them, so that no query has to know the rule."""
    return {
        "expected": [
            {
                "cell": plan.identity.key,
                "identity": plan.identity.plain(),
                "dtype": plan.dtype,
                "device": plan.device,
                "held_out": manifest.holdout.holds_out(plan.identity.key),
            }
            for plan in manifest.cells
        ]
    }


def _typed(record: Record | None) -> Row:
    """The struct columns that a payload fills."""
    match record:
        case CampaignOpened():
            return _expected(record.manifest)
        case CellStarted():
            names = ("identity",)
        case CellDescribed():
            names = ("facts", "fingerprint", "candidates", "automatic")
        case CellImported():
            names = ("identity", "facts", "fingerprint", "candidates")
        case _:
            return {}
    plain = cast("Record", record).plain()
    return {name: plain[name] for name in names}
