"""Whole metric histories: one query a run from the embedded store, parallel requests to a server."""

import math
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

from schemas import StoreUnavailableError
from tracker.mlflow_store._records import MetricPoint

REQUESTS = 8
"""A server's round trips are what its answers take; so many are under way at once."""

_QUERY = "SELECT key, step, timestamp, value, is_nan FROM metrics WHERE run_uuid = ?"


def embedded_points(database: Path, run_id: str) -> tuple[MetricPoint, ...]:
    """Every point of a run, sorted, those of keys that MLflow does not list too.

    Raises:
        StoreUnavailableError: the database cannot be read.
    """
    try:
        address = f"file:{database.absolute()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=20.0)) as connection:
            rows = connection.execute(_QUERY, (run_id,)).fetchall()
    except sqlite3.Error as error:
        raise StoreUnavailableError(f"{database}: cannot be read: {error}; push makes it anew") from error
    return tuple(sorted(_point(*row) for row in rows))


def _point(key: object, step: object, timestamp: object, value: object, is_nan: object) -> MetricPoint:
    # SQLite holds any kind of value in any column: what is no number is one that nothing equals.
    number = float(value) if isinstance(value, (int, float)) and not is_nan else math.nan
    return MetricPoint(str(key), _whole(step), _whole(timestamp), number)


def _whole(value: object) -> int:
    return value if isinstance(value, int) else -1


def server_points(history: Callable[[str], Sequence[Any]], keys: Sequence[str]) -> tuple[MetricPoint, ...]:
    """Every point of the named metrics, sorted; `history` asks the server for one metric."""
    with ThreadPoolExecutor(REQUESTS) as pool:
        points = chain.from_iterable(pool.map(history, keys))
        return tuple(
            sorted(MetricPoint(str(p.key), int(p.step), int(p.timestamp), float(p.value)) for p in points)
        )
