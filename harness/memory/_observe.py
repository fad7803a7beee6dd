"""Observe a step: its allocator trace, the peak it reached and what its forwards retained."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from numpy.typing import ArrayLike
from torch.profiler import record_function

from harness._pack import LayoutLike
from harness._step import prepare, synchronize_gradients
from harness.memory._cpu_trace import record_cpu_trace
from harness.memory._cuda_trace import record_cuda_trace
from harness.memory._records import observation_record, trace_records
from harness.memory._step import FORWARD_STAGE, Report, clear_gradients
from harness.model._decoder import Decoder
from planner import Layout
from planner.memory import AllocatorTrace, ForwardSize, Observation, Pricing, Replay, Signature, replay


@dataclass(frozen=True, slots=True)
class ObservedStep:
    """A step with everything that its allocator did.

    Args:
        observation: its size, peak and retained memory.
        trace: the allocator trace.
        replay: what the trace shows.
    """

    observation: Observation
    trace: AllocatorTrace
    replay: Replay


def record_trace(call: Callable[[], object], device: torch.device) -> AllocatorTrace:
    """Run a call and return what the device's allocator did meanwhile."""
    return record_cuda_trace(call, device) if device.type == "cuda" else record_cpu_trace(call)


def observe_step(model: Decoder, rows: Sequence[ArrayLike], layout: Layout) -> ObservedStep:
    """Run a forward and backward of rows in one layout, and see what memory it takes.

    The peak is above what was in use before, and covers whatever the step does on this rank: preparing its
    index tensors, the forward, the backward and its gradients, the collectives.
    """
    clear_gradients(model)
    trace = record_trace(lambda: _step(model, rows, layout), model.embedding.device)
    clear_gradients(model)
    shown = replay(trace)
    size = ForwardSize(layout.packed_tokens, sum(len(row) for row in rows))  # type: ignore[arg-type]
    return ObservedStep(
        Observation(size, shown.peak_bytes, retained_bytes(shown)),
        trace,
        shown,
    )


def retained_bytes(shown: Replay) -> int:
    """Bytes in use at the end of a step's forwards: what their backward keeps them for."""
    return shown.in_use[shown.runs_of(FORWARD_STAGE)[-1].left]


def report_observation(
    observed: ObservedStep, signature: Signature, pricing: Pricing, report: Report
) -> None:
    """Give the observation and its trace to the log, beside what this pricing predicted."""
    report("memory.observed", observation_record(signature, pricing, observed.observation, observed.trace))
    for record in trace_records(observed.trace):
        report("memory.trace", record)


def _step(model: Decoder, rows: Sequence[ArrayLike], layout: LayoutLike) -> None:
    with record_function(FORWARD_STAGE):
        share = model(prepare(model, rows, layout))
    share.backward()
    synchronize_gradients(model)
