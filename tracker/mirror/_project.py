"""A sealed segment as the run that shows it."""

from collections.abc import Sequence
from pathlib import Path

from schemas import Event
from tracker.mirror._run_plan import (
    CAMPAIGN_TAG,
    NAME_CHARACTERS,
    NOTE_TAG,
    PARAM_CHARACTERS,
    PROJECTION,
    PROJECTION_TAG,
    SEGMENT_TAG,
    TAG_CHARACTERS,
    RunPlan,
    safe_key,
    shortened,
)
from tracker.mirror._told import milliseconds
from tracker.mirror._units import describe_unit


def project_segment(events: Sequence[Event], path: Path) -> RunPlan:
    """The run of a segment.

    Args:
        events: all events of the sealed segment, verified, the seal last.
        path: the segment's file.

    Raises:
        InvalidInputError: an event's data is not what its type says.
    """
    opened, seal = events[0], events[-1]
    unit = str(opened.data["unit"])
    told = describe_unit(unit, events)
    texts = dict(told.texts)
    facts = {
        SEGMENT_TAG: opened.subject["segment"],
        CAMPAIGN_TAG: opened.subject["campaign"],
        PROJECTION_TAG: PROJECTION,
        "ledger.kind": unit,
        "ledger.verdict": told.verdict,
        "ledger.events": str(seal.data["count"]),
        "ledger.root": str(seal.data["root"]),
        "ledger.head": seal.digest,
        "ledger.tool": opened.source.tool,
        NOTE_TAG: told.note,
    }
    about = {
        f"ledger.{key}": value for key, value in opened.subject.items() if key not in ("segment", "campaign")
    }
    tags = {safe_key(key): value for key, value in {**about, **facts}.items() if value}
    return RunPlan(
        campaign=opened.subject["campaign"],
        segment=opened.subject["segment"],
        name=_name(told.name),
        status=told.status,
        start=milliseconds(opened.time),
        end=milliseconds(seal.time),
        params={
            key: shortened(key, value, PARAM_CHARACTERS, texts)
            for key, value in ((safe_key(name), text) for name, text in told.params.items())
            if value
        },
        tags={key: shortened(key, value, TAG_CHARACTERS, texts) for key, value in tags.items()},
        metrics=tuple(sorted(set(told.metrics))),
        texts=texts,
        segment_file=path,
    )


def _name(text: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= NAME_CHARACTERS else f"{line[: NAME_CHARACTERS - 1]}…"
