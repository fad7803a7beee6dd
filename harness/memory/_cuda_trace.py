"""What the CUDA caching allocator did during a call, from its memory history."""

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from planner.memory import AllocatorTrace, TraceStep, seal_trace

GRANULARITY = 512
"""The caching allocator rounds every block up to a multiple of so many bytes."""

HISTORY_ENTRIES = 1_000_000

# A block can be handed out again only once its free is completed; a request alone frees nothing yet.
_KINDS = {"alloc": "alloc", "free_completed": "free"}
_STAGES = {"START": "enter", "END": "exit"}
# At the same microsecond a stage begins before and ends after what was allocated in it.
_RANK = {"enter": 0, "alloc": 1, "free": 1, "exit": 2}


def record_cuda_trace(
    call: Callable[[], object], device: torch.device, *, max_entries: int = HISTORY_ENTRIES
) -> AllocatorTrace:
    """Run the call with the allocator's history on and return its trace; never inside a timed round."""
    index = torch.cuda.current_device() if device.index is None else device.index
    memory: Any = torch.cuda.memory
    gc.collect()
    torch.cuda.synchronize(index)
    held = held_blocks(memory._snapshot(index), index)
    memory._record_memory_history(
        "all", context=None, max_entries=max_entries, clear_history=True, global_record_annotations=True
    )
    try:
        call()
        torch.cuda.synchronize(index)
        snapshot = memory._snapshot(index)
    finally:
        memory._record_memory_history(None)
    return cuda_trace(snapshot, index, max_entries=max_entries, already_held=held)


def held_blocks(snapshot: Mapping[str, Any], device: int) -> list[tuple[int, int]]:
    """Address and size of every block in use."""
    return [
        (block["address"], block["size"])
        for segment in snapshot["segments"]
        if segment["device"] == device
        for block in segment["blocks"]
        # A block whose free waits for another stream is not free yet.
        if block["state"] in ("active_allocated", "active_pending_free", "active_awaiting_free")
    ]


def cuda_trace(
    snapshot: Mapping[str, Any],
    device: int,
    *,
    max_entries: int,
    already_held: Iterable[tuple[int, int]] = (),
) -> AllocatorTrace:
    """The trace in a snapshot's history; a ring that is full has lost its beginning, and the trace says so.

    Args:
        snapshot: what `torch.cuda.memory._snapshot()` returns.
        device: whose history.
        max_entries: size of the ring.
        already_held: address and size of the blocks in use when recording began.
    """
    entries: Sequence[Mapping[str, Any]] = snapshot["device_traces"][device]
    from_start = len(entries) < max_entries
    found = [
        (entry["time_us"], _KINDS[entry["action"]], entry["addr"], entry["size"], "")
        for entry in entries
        if entry["action"] in _KINDS
    ]
    found += [
        (mark["time_us"], _STAGES[mark["stage"]], 0, 0, str(mark["name"]))
        for mark in snapshot.get("external_annotations", ())
        if mark.get("stage") in _STAGES and mark.get("device", device) == device
    ]
    found.sort(key=lambda step: (step[0], _RANK[step[1]]))
    steps = [
        TraceStep(order, kind, address, size, label)  # type: ignore[arg-type]
        for order, (_, kind, address, size, label) in enumerate(found)
    ]
    return seal_trace(
        "cuda-history",
        GRANULARITY,
        steps,
        from_start=from_start,
        already_held=already_held if from_start else (),
    )
