"""What trainers saw of the layouts that they ran: `selection.observed` events, before and after a moment."""

from dataclasses import dataclass
from typing import Any

from fit import Alternative, PlaceDrift, Seen, alternatives, place_drifts
from tracker._ledger import Ledger

STEPS = """
SELECT version, table_id, coalesce(cell, concat('tp', tp, '|cp', cp, ' L', layers)) AS place, candidate,
    ms, predicted_us, seen >= CAST($since AS TIMESTAMP) AS later, batch, selected
FROM selections
WHERE ($version IS NULL OR version = $version)
ORDER BY segment, seq
"""
LOSSES = """
SELECT coalesce(sum(CAST(data ->> '$.dropped' AS BIGINT) + CAST(data ->> '$.unwritten' AS BIGINT)
    + CAST(data ->> '$.refused' AS BIGINT)), 0) AS lost
FROM events WHERE type = 'selection.closed'
"""


@dataclass(frozen=True, slots=True)
class Production:
    """Production beside the predictions.

    Args:
        since: the moment of the change, RFC 3339.
        steps: how many steps were seen and could be compared.
        unpriced: how many had no prediction to compare with.
        lost: how many observations were counted as lost, of all runs and times.
        places: each table on each cell or shape.
        alternatives: layouts that were run on purpose instead of the selected one, on the same batches.
    """

    since: str
    steps: int
    unpriced: int
    lost: int
    places: tuple[PlaceDrift, ...]
    alternatives: tuple[Alternative, ...]


def production_drift(ledger: Ledger, since: str, version: int | None = None) -> Production | None:
    """What trainers told, by version, table and place; None where none told anything.

    Args:
        ledger: whose log they wrote.
        since: the moment of the change, RFC 3339, UTC.
        version: only of this coefficient version; of all where omitted.
    """
    with ledger.warehouse.connect() as connection:
        told = connection.execute(STEPS, {"since": since.removesuffix("Z"), "version": version})
        names = [column[0] for column in told.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in told.fetchall()]
        (lost,) = connection.execute(LOSSES).fetchall()[0]
    if not rows and not lost:
        return None
    steps = [_seen(row) for row in rows if row["predicted_us"] and row["ms"]]
    return Production(
        since=since,
        steps=len(steps),
        unpriced=len(rows) - len(steps),
        lost=int(lost),
        places=place_drifts(steps),
        alternatives=alternatives(steps),
    )


def _seen(row: dict[str, Any]) -> Seen:
    version = "a file" if row["version"] is None else f"version {row['version']}"
    return Seen(
        place=f"{version}, {row['table_id']}, {row['place']}",
        layout=row["candidate"],
        ms=row["ms"],
        predicted_ms=row["predicted_us"] / 1000,
        later=row["later"],
        batch=row["batch"],
        selected=row["selected"],
    )
