"""`ray`: each cell is a task of a Ray cluster, which waits for the processors or GPUs that its ranks need.

All ranks of a cell run on the node where it was placed. What they say streams back to this process as the
task's results: no node writes the ledger or needs to see its folder, and a lost node loses nothing that it
had said. A cell whose node is lost is tried again, as a new attempt.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from harness._interrupt import StopSignals
from harness._job import Work
from harness.engines._protocol import Engine, Reports
from harness.engines._ray_run import RayRun
from schemas import MeasurementError, require_module

RETRIES = 2
"""New attempts of a cell whose node was lost."""

PLACEMENT_LIMIT_S = 60.0
"""How long a cell waits for a node that could hold it, while the cluster has none."""

_CONNECT_LIMIT_S = 10.0

# Read when Ray is imported. What its nodes write would otherwise stand between our lines, and in our JSON.
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS_SKIP_REGEX": ".*"}


@contextmanager
def ray_engine(
    address: str | None, *, retries: int = RETRIES, placement_limit_s: float = PLACEMENT_LIMIT_S
) -> Iterator[Engine]:
    """An engine on the cluster at the address; on `RAY_ADDRESS` or a cluster of this machine alone if None.

    Raises:
        MissingExtraError: Ray is not installed.
        MeasurementError: no cluster answers.
    """
    require_module("ray")
    address = address or os.environ.get("RAY_ADDRESS") or None
    _require_listener(address)
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    import ray

    try:
        # Here, not in `run`: this sets a SIGTERM handler, which ours then replaces while cells run.
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", include_dashboard=False)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise _unreachable(address or "this machine", error) from error
    try:
        yield RayEngine(ray, retries, placement_limit_s)
    finally:
        ray.shutdown()


class RayEngine:
    """The engine of a cluster; made by `ray_engine`, which connects the `ray` module that it is given."""

    name = "ray"

    def __init__(self, ray: Any, retries: int, placement_limit_s: float) -> None:
        self._ray = ray
        self._retries = retries
        self._placement_limit_s = placement_limit_s

    def run(self, work: Work, reports: Reports, stop: StopSignals) -> None:
        """Submit all cells at once; the cluster runs as many at a time as it has room for."""
        RayRun(self._ray, work, reports, self._retries, self._placement_limit_s).run(stop)


def _require_listener(address: str | None) -> None:
    """Refuse at once an address where nothing listens; Ray itself would try for minutes."""
    host, _, port = (address or "").rpartition(":")
    if not port.isdecimal() or "/" in host:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_LIMIT_S).close()
    except (OSError, OverflowError) as error:
        raise _unreachable(str(address), error) from error


def _unreachable(where: str, error: Exception) -> MeasurementError:
    return MeasurementError(
        f"no Ray cluster at {where}: {error}; start one with `ray start --head` and name its address, or "
        "leave the address out to use this machine alone"
    )
