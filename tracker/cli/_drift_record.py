"""What `drift` says to scripts: one JSON document."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fit import Move, SelectionChange
    from tracker.drift import CampaignDrift, Production, VersionVerdict


def drift_record(
    found: "CampaignDrift", verdict: "VersionVerdict | None", production: "Production | None"
) -> dict[str, Any]:
    """All of it for scripts."""
    return {
        "before": found.before,
        "after": found.after,
        "overall_pct": found.times.overall_pct,
        "cells": [
            {
                **_move_record(each.cell),
                "candidates": [_move_record(move) for move in each.candidates],
                "unmatched": list(each.unmatched),
            }
            for each in found.times.cells
        ],
        "cells_moved": [each.cell.name for each in found.times.moved],
        "cells_by_chance": found.times.cells_by_chance,
        "candidates_moved": found.times.candidates_moved,
        "candidates_by_chance": found.times.candidates_by_chance,
        "only_before": list(found.only_before),
        "only_after": list(found.only_after),
        "fingerprints": [asdict(change) for change in found.fingerprints],
        "winners": [_change_record(change) for change in found.winners],
        "selections": None if found.selections is None else [_change_record(c) for c in found.selections],
        "unfitted": found.unfitted,
        "version": verdict and _version_record(verdict),
        "production": production and _production_record(production),
    }


def _move_record(move: "Move") -> dict[str, Any]:
    return {**asdict(move), "noise_pct": _finite(move.noise_pct), "moved": move.moved}


def _change_record(change: "SelectionChange") -> dict[str, Any]:
    return {
        **asdict(change),
        "noise_pct": _finite(change.noise_pct),
        "beyond_noise": change.beyond_noise,
    }


def _version_record(verdict: "VersionVerdict") -> dict[str, Any]:
    return {
        "version": verdict.version,
        "alias": verdict.alias,
        "passed": verdict.passed,
        "tables": [
            {
                "table_id": table.table_id,
                "cells": list(table.cells),
                "before": table.before and table.before.plain(),
                "after": table.after.plain(),
                "gates": [gate.plain() for gate in table.gates],
                "outside": table.outside,
            }
            for table in verdict.tables
        ],
    }


def _production_record(production: "Production") -> dict[str, Any]:
    return {
        "since": production.since,
        "steps": production.steps,
        "unpriced": production.unpriced,
        "lost": production.lost,
        "places": [
            {
                "place": place.place,
                "steps": place.steps,
                "earlier": place.earlier,
                "ratio": place.ratio,
                "change": place.change and _move_record(place.change),
                "layouts": [
                    {"layout": each.layout, "steps": each.steps, "beside": _move_record(each.beside)}
                    for each in place.layouts
                ],
            }
            for place in production.places
        ],
        "alternatives": [
            {**asdict(each), "gain": _move_record(each.gain)} for each in production.alternatives
        ],
    }


def _finite(value: float) -> float | None:
    """JSON has no infinity; a noise that one sample cannot tell is null."""
    return value if value < float("inf") else None
