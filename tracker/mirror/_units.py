"""What each unit of work says of itself: name, verdict, status, numbers."""

import json
from collections.abc import Callable, Mapping, Sequence

from schemas import (
    AliasMoved,
    CampaignOpened,
    CellExcluded,
    CellImported,
    CertificateIssued,
    CertificateRefused,
    Event,
    HoldPlaced,
    HoldReleased,
    ImportRecorded,
    ReviewRecorded,
    SelectionObserved,
    SelectionsClosed,
    VersionRegistered,
)
from tracker._markdown import escape_markdown
from tracker._payloads import payloads
from tracker.mirror._attempt import describe_attempt
from tracker.mirror._fit import describe_fit
from tracker.mirror._notes import (
    certificate_words,
    exclusion_words,
    manifest_words,
    move_words,
    refusal_words,
    registration_words,
    review_words,
    selections_words,
)
from tracker.mirror._run_plan import safe_key
from tracker.mirror._told import FAILED, KILLED, Told, point, table


def describe_unit(unit: str, events: Sequence[Event]) -> Told:
    """A segment's unit in words and numbers; one that ended before its work is KILLED.

    Raises:
        InvalidInputError: an event's data is not what its type says.
    """
    if any(event.type == "segment.interrupted" for event in events):
        return Told(f"{unit} · interrupted", "interrupted", KILLED)
    describe = _DESCRIBE.get(unit)
    return (describe(events) if describe else None) or Told(unit, "recorded")


def _campaign(events: Sequence[Event]) -> Told | None:
    for _, opened in payloads(events, "campaign.opened", CampaignOpened):
        manifest = opened.manifest
        return Told(
            name="campaign opened",
            verdict="opened",
            note=manifest_words(manifest),
            params={
                "table_id": manifest.table_id,
                "cells": str(len(manifest.cells)),
                "held_out": str(len(manifest.holdout_keys())),
                "manifest_digest": opened.manifest_digest,
                **{f"protocol.{key}": str(value) for key, value in manifest.protocol.plain().items()},
            },
            texts={
                "manifest.json": json.dumps(manifest.plain(), indent=1, sort_keys=True, ensure_ascii=False)
            },
        )
    return None


def _exclusion(events: Sequence[Event]) -> Told | None:
    for _, excluded in payloads(events, "cell.excluded", CellExcluded):
        return Told(
            name=f"exclusion · {excluded.cell}",
            verdict="excluded",
            note=exclusion_words(excluded),
            params={
                "cell": excluded.cell,
                "reason": excluded.reason,
                "reference": excluded.reference,
                "by": excluded.by,
            },
        )
    return None


def _certificate(events: Sequence[Event]) -> Told | None:
    for _, issued in payloads(events, "certificate.issued", CertificateIssued):
        return Told(
            name=f"certificate · {issued.table_id} · issued",
            verdict="issued",
            note=certificate_words(issued),
            params={key: str(value) for key, value in issued.plain().items()},
        )
    for _, refused in payloads(events, "certificate.refused", CertificateRefused):
        return Told(
            name="certificate · refused",
            verdict="refused",
            status=FAILED,
            note=refusal_words(refused),
            params={"fit": refused.fit, "reasons": "; ".join(refused.reasons)},
        )
    return None


def _import(events: Sequence[Event]) -> Told | None:
    cells = payloads(events, "cell.imported", CellImported)
    for event, record in payloads(events, "import.recorded", ImportRecorded):
        rows = [
            [cell.cell, each.label, each.median_ms, each.spread_pct, each.n]
            for _, cell in cells
            for each in cell.candidates
        ]
        return Told(
            name=f"import · {record.file_name}",
            verdict="imported",
            note=f"Evidence that another project measured ({escape_markdown(record.source_format)}), "
            f"{len(cells)} cells, file digest {escape_markdown(record.file_digest)}.",
            params={
                "source_format": record.source_format,
                "file_name": record.file_name,
                "file_digest": record.file_digest,
                **{
                    f"claims.{key}": json.dumps(value, sort_keys=True) for key, value in record.claims.items()
                },
            },
            metrics=[point(event, "cells", len(cells)), point(event, "candidates", len(rows))],
            texts={"candidates.json": table(("cell", "candidate", "median_ms", "spread_pct", "n"), rows)},
        )
    return None


def _registration(events: Sequence[Event]) -> Told | None:
    for _, registered in payloads(events, "version.registered", VersionRegistered):
        tables = {f"table.{t.table_id}": t.table_digest for t in registered.tables}
        certificates = {f"certificate.{t.table_id}": t.certificate for t in registered.tables}
        return Told(
            name=f"registration · {registered.model} version {registered.version}",
            verdict=f"version {registered.version}",
            note=registration_words(registered),
            params={
                "model": registered.model,
                "version": str(registered.version),
                "bundle_digest": registered.bundle_digest,
                **tables,
                **certificates,
            },
        )
    return None


def _promotion(events: Sequence[Event]) -> Told | None:
    for _, moved in payloads(events, "alias.moved", AliasMoved):
        target = "removed" if moved.version is None else f"version {moved.version}"
        how = f"{moved.origin}, forced" if moved.forced else moved.origin
        return Told(
            name=f"{moved.origin} · {moved.alias} → {target}",
            verdict=f"{how}: {target}",
            note=move_words(moved),
            params={key: str(value) for key, value in moved.plain().items() if value is not None},
        )
    return None


def _review(events: Sequence[Event]) -> Told | None:
    for _, review in payloads(events, "review.recorded", ReviewRecorded):
        verdict = f"{review.aspect}: {review.verdict.replace('_', ' ')}"
        return Told(
            name=f"review · {verdict} · {review.by}",
            verdict=verdict,
            note=review_words(review),
            params={key: str(value) for key, value in review.plain().items()},
        )
    return _hold(events)


def _hold(events: Sequence[Event]) -> Told | None:
    for _, hold in payloads(events, "hold.placed", HoldPlaced):
        target = f"version {hold.version}" if hold.certificate is None else f"certificate {hold.certificate}"
        return Told(
            name=f"hold · {target} · {hold.by}",
            verdict=f"held: {target}",
            note=f"{escape_markdown(hold.by)} keeps {target} from being promoted: "
            f"{escape_markdown(hold.reason)}",
            params={key: str(value) for key, value in hold.plain().items() if value is not None},
        )
    for _, released in payloads(events, "hold.released", HoldReleased):
        return Told(
            name=f"hold released · {released.hold} · {released.by}",
            verdict="released",
            note=f"Hold {released.hold} released by {escape_markdown(released.by)}: "
            f"{escape_markdown(released.reason)}",
            params=released.plain(),
        )
    return None


def _selection(events: Sequence[Event]) -> Told | None:
    seen = payloads(events, "selection.observed", SelectionObserved)
    closed = payloads(events, "selection.closed", SelectionsClosed)
    if not seen and not closed:
        return None
    return Told(
        name=f"production · {len(seen)} steps",
        verdict=f"{len(seen)} steps",
        note=selections_words(len(seen), [each for _, each in closed]),
        metrics=[
            *(
                point(event, f"ms/{safe_key(each.candidate)}", each.ms, number)
                for number, (event, each) in enumerate(seen)
            ),
            *(
                point(
                    event,
                    f"seen_over_predicted/{safe_key(each.candidate)}",
                    each.ms * 1000 / each.predicted_us,
                    number,
                )
                for number, (event, each) in enumerate(seen)
                if each.predicted_us
            ),
        ],
    )


_DESCRIBE: Mapping[str, Callable[[Sequence[Event]], Told | None]] = {
    "attempt": describe_attempt,
    "campaign": _campaign,
    "exclusion": _exclusion,
    "fit": describe_fit,
    "certificate": _certificate,
    "import": _import,
    "registration": _registration,
    "promotion": _promotion,
    "review": _review,
    "selection": _selection,
}
