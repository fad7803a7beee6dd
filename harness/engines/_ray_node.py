"""One cell on the node where Ray placed it: the launcher as on one machine, what it says streamed back."""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness._environment import environment_record, source_digest
from harness._interrupt import StopSignals
from harness._job import Work
from harness._launch import CellOutcome, Launch, Said
from schemas import MeasurementError


@dataclass(frozen=True, slots=True)
class Began:
    """The cell is about to start in the process `pid` of the node of that id."""

    environment: dict[str, Any]
    node: str
    pid: int


def cell_on_node(work: dict[str, Any], source: str) -> Iterator[Began | Said | CellOutcome]:
    """Run the work's only cell: first where, then each event of its ranks, at last how it ended.

    SIGTERM to the process ends the cell as interrupted.

    Raises:
        MeasurementError: other sources are installed here than where the campaign was started.
    """
    here = source_digest()
    if here != source:
        raise MeasurementError(
            f"this node has the measuring source {here[:12]}, the campaign was started with {source[:12]}; "
            "install the same layoutledger on every node"
        )
    parsed = Work.parse(work, where="work sent to this node")
    with tempfile.TemporaryDirectory(prefix="layoutledger-") as folder, StopSignals() as stop:
        yield _began(parsed)
        with Launch(parsed.job(parsed.cells, Path(folder), source), wake=stop.fileno()) as launch:
            outcome = yield from launch.stream(0, parsed.protocol.timeout_s)
    yield outcome


def _began(work: Work) -> Began:
    import ray

    node = ray.get_runtime_context().get_node_id()
    environment = environment_record(work.protocol.threads_per_rank)
    place = {"node": node, "node_address": ray.util.get_node_ip_address()}
    return Began(environment | place, node, os.getpid())
