"""Every cell of a campaign as its evidence tells it: state, samples, failures, exclusion, times."""

from collections.abc import Sequence
from typing import Any

import duckdb

from schemas import AttemptFailure, CellJudged, JudgedCandidate
from tracker._ledger import Ledger

TAIL_CHARACTERS = 4000
PERCENT_DIGITS = 4
"""Recorded percentages are rounded to so many digits, below what any measurement tells apart."""

Row = dict[str, Any]

CELLS = """
SELECT cells.cell, cells.state, cells.expected, cells.held_out, cells.attempts,
    cells.usable_samples AS usable, attempts.identity, attempts.fingerprint,
    CASE WHEN drift.attempt IS NOT NULL THEN coalesce(stalled.samples, 0) END AS stalls,
    drift.change_pct AS drift_pct, drift.drifting
FROM cells
LEFT JOIN attempts ON attempts.campaign = cells.campaign AND attempts.attempt = cells.attempt
    AND attempts.cell = cells.cell
LEFT JOIN (FROM attempt_drift WHERE campaign = $campaign) AS drift
    ON drift.attempt = cells.attempt AND drift.cell = cells.cell
LEFT JOIN (
    SELECT attempt, cell, count(*) AS samples FROM stalls WHERE campaign = $campaign AND usable
    GROUP BY attempt, cell
) AS stalled ON stalled.attempt = cells.attempt AND stalled.cell = cells.cell
WHERE cells.campaign = $campaign
ORDER BY position NULLS LAST, cells.cell
"""
CANDIDATES = """
SELECT cell, candidate AS label, median_ms, n, spread_pct
FROM candidate_medians WHERE campaign = $campaign ORDER BY cell, candidate
"""
UNUSABLE = """
SELECT samples.cell, split_part(reason, ':', 1) AS reason, count(*) AS samples
FROM samples JOIN attempts ON attempts.campaign = samples.campaign AND attempts.attempt = samples.attempt
    AND attempts.cell = samples.cell AND attempts.counts
WHERE samples.campaign = $campaign AND NOT usable AND reason IS NOT NULL
GROUP BY ALL ORDER BY ALL
"""
FAILURES = """
SELECT cell, attempt, number, kind, message, log_tail, resolved
FROM failures WHERE campaign = $campaign ORDER BY cell, attempt
"""
EXCLUSIONS = """
SELECT cell, reason, reference, "by" FROM exclusions WHERE campaign = $campaign
"""


def tell_cells(
    ledger: Ledger, campaign: str, segments: Sequence[str] | None = None
) -> tuple[CellJudged, ...]:
    """The expected cells in manifest order, then unexpected ones; without a table, so nothing is selected.

    Args:
        ledger: where the evidence is.
        campaign: its name.
        segments: what to read; all that is sealed where omitted.

    Raises:
        NotFoundError: no such campaign.
    """
    ledger.manifest(campaign)
    with ledger.warehouse.connect(segments) as connection:
        cells = _rows(connection, CELLS, campaign)
        candidates, unusable, failures, exclusions = (
            _by_cell(_rows(connection, sql, campaign)) for sql in (CANDIDATES, UNUSABLE, FAILURES, EXCLUSIONS)
        )
    return tuple(
        CellJudged.parse(
            {
                **row,
                "drift_pct": None if row["drift_pct"] is None else percent(row["drift_pct"]),
                "unusable": {each["reason"]: each["samples"] for each in unusable.get(row["cell"], ())},
                "failures": [_failure(each).plain() for each in failures.get(row["cell"], ())],
                "exclusion": next(iter(exclusions.get(row["cell"], ())), None),
                "candidates": [_candidate(each).plain() for each in candidates.get(row["cell"], ())],
            },
            where=f"campaign {campaign}, cell {row['cell']}",
        )
        for row in cells
    )


def microseconds(milliseconds: float) -> int:
    """A time in whole microseconds."""
    return round(milliseconds * 1000)


def percent(value: float) -> float:
    """A percentage as it is recorded."""
    return round(value, PERCENT_DIGITS)


def _failure(row: Row) -> AttemptFailure:
    tail = (row["log_tail"] or "")[-TAIL_CHARACTERS:]
    told = {key: row[key] for key in ("attempt", "number", "kind", "message", "resolved")}
    return AttemptFailure(**told, log_tail=tail)


def _candidate(row: Row) -> JudgedCandidate:
    return JudgedCandidate(
        label=row["label"],
        median_us=microseconds(row["median_ms"]),
        n=row["n"],
        spread_pct=percent(row["spread_pct"]),
    )


def _rows(connection: duckdb.DuckDBPyConnection, sql: str, campaign: str) -> list[Row]:
    result = connection.execute(sql, {"campaign": campaign})
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def _by_cell(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["cell"], []).append(row)
    return found
