"""One cell on one rank, in a process of its own: build, describe, measure, report."""

import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from harness._admit import require_memory
from harness._cell import PreparedCell, prepare_cell
from harness._comm import Groups, close_groups, gather_control_text, open_groups
from harness._environment import cpu_device_class, cpu_name
from harness._failure import explain_error
from harness._faults import FaultInjector
from harness._job import Job, JobCell, event_line, last_collective_file
from harness._lastcall import LastCollective
from harness._measure import Bench, CellMeasurement, Step, end_report, require_same_layouts
from harness._step import forward_backward, prepare
from harness.model._decoder import Decoder, build_model
from planner import memory_bucket
from schemas import CellDescribed, DeviceClass, Record

Send = Callable[[dict[str, Any]], None]


def run_cell(job: Job, cell: JobCell, rank: int, local_rank: int, rendezvous: str, send: Send) -> int:
    """Measure a cell and send what there is to say; the exit code of its process."""
    began = time.monotonic()
    try:
        report = _measure(job, cell, rank, local_rank, rendezvous, send, began)
    except BaseException as error:
        traceback.print_exc()
        sys.stderr.flush()
        failure = explain_error(error)
        send(
            event_line("failed", kind=failure.kind, message=failure.message, consequence=failure.consequence)
        )
        return 1
    send(event_line("report", report=report))
    return 0


def _measure(
    job: Job, cell: JobCell, rank: int, local_rank: int, rendezvous: str, send: Send, began: float
) -> dict[str, Any]:
    torch.set_num_threads(job.protocol.threads_per_rank)
    device = torch.device(f"cuda:{local_rank}" if cell.plan.device == "cuda" else "cpu")
    prepared = prepare_cell(cell.plan, job.automatic)
    groups = _open(job, cell, rank, device, rendezvous)
    layouts = require_same_layouts(prepared, groups)

    def emit(type_: str, record: Record) -> None:
        if rank == 0:
            send(event_line("record", type=type_, data=record.plain()))

    emit("cell.described", _described(job, prepared, device))
    model = build_model(prepared.config, groups, job.protocol.seed, device)
    require_memory(model, prepared, job.protocol.memory_limit_bytes)
    measurement = CellMeasurement(
        Bench(
            cell=cell.plan.identity.key,
            steps=build_steps(prepared, model),
            model=model,
            groups=groups,
            device=device,
            protocol=job.protocol,
            faults=FaultInjector(cell.fault, rank),
            emit=emit,
        )
    )
    measurement.run()
    report = end_report(measurement, groups, layouts, began)
    _leave_together(groups, layouts)
    return report


def _leave_together(groups: Groups, layouts: str) -> None:
    # No rank reports success while another may still fail.
    gather_control_text(groups, layouts)
    # Only after success: with a peer gone it may block; a failed rank's process simply ends.
    close_groups(groups)


def _described(job: Job, prepared: PreparedCell, device: torch.device) -> CellDescribed:
    name, device_class = describe_device(device)
    return prepared.describe(
        source=job.source,
        device=name,
        device_class=device_class,
        automatic_version=job.automatic.version,
    )


def build_steps(prepared: PreparedCell, model: Decoder) -> dict[str, Step]:
    """A step for each layout to time; packing and sharding are done here, outside the clock."""
    plans = {v.name: prepare(model, prepared.rows, v.layout) for v in prepared.variants}
    return {name: partial(forward_backward, model, plan) for name, plan in plans.items()}


def describe_device(device: torch.device) -> tuple[str, DeviceClass]:
    """The device's name and class."""
    if device.type == "cpu":
        return cpu_name(), cpu_device_class()
    facts = torch.cuda.get_device_properties(device)
    capability = f"sm_{facts.major}{facts.minor}"
    return facts.name, DeviceClass(capability=capability, memory=memory_bucket(facts.total_memory))


def _open(job: Job, cell: JobCell, rank: int, device: torch.device, rendezvous: str) -> Groups:
    if device.type == "cuda":
        torch.cuda.set_device(device)
    shape = cell.plan.identity.shape
    return open_groups(
        tp=shape.tp,
        cp=shape.cp,
        ep=shape.ep,
        etp=shape.etp,
        rank=rank,
        world_size=job.world_size,
        init_method=rendezvous,
        backend="nccl" if device.type == "cuda" else "gloo",
        # Above the cell's own limit: whoever started the ranks ends them first, and knows why.
        timeout_s=2 * job.protocol.timeout_s,
        control_timeout_s=4 * job.protocol.timeout_s,
        last=LastCollective(Path(job.folder) / last_collective_file(rank)),
    )
