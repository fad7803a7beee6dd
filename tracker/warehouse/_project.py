"""From a segment's verified events to its table: one row a line, typed columns."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

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
)
from tracker.log import SegmentPath, read_segment
from tracker.warehouse._arrow import Table, arrow
from tracker.warehouse._columns import LINES

SAMPLE = "sample.recorded"

Row = dict[str, Any]


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
    unit = str(events[0].data.get("unit", "unknown")) if events else "unknown"
    rows = [_row(event, unit, place) for event in events]
    try:
        columns = [arrow.array([row.get(field.name) for row in rows], type=field.type) for field in LINES]
    except (arrow.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"{place.path}: a payload does not fit its columns: {error}") from error
    return arrow.Table.from_arrays(columns, schema=LINES)


def _row(event: Event, unit: str, place: SegmentPath) -> Row:
    row: Row = {
        "campaign": place.campaign,
        "segment": place.segment,
        "unit": unit,
        "seq": event.seq,
        "id": event.id,
        "type": event.type,
        "version": event.version,
        # The log's times end in Z; the column is in UTC.
        "time": datetime.fromisoformat(event.time[:-1]),
        "host": event.source.host,
        "pid": event.source.pid,
        "tool": event.source.tool,
        "subject": _text(event.subject),
        "digest": bytes.fromhex(event.digest),
        "cell": event.data.get("cell", event.subject.get("cell")),
    }
    record = _payload(event, place)
    if event.type == SAMPLE:
        row["sample"] = event.data
    else:
        row["data"] = _text(event.data)
        row.update(_typed(record))
    return row


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
