"""What the CPU allocator did during a call, from the profiler's memory events."""

import gc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torch.profiler import ProfilerActivity, profile

from planner.memory import AllocatorTrace, TraceStep, seal_trace

STAGE_PREFIXES = ("expert.", "memory.")
"""Labels that become stages of a trace; operators and autograd nodes do not."""

# Time in ns, place in the event tree, kind, address, size, label.
_Raw = tuple[int, int, str, int, int, str]


def record_cpu_trace(call: Callable[[], object]) -> AllocatorTrace:
    """Run the call under the profiler and return its allocator trace; never inside a timed round.

    Frees of what was allocated before are left out: bytes in use are counted from the start of the call and
    never fall below.
    """
    # Garbage of before, collected in the middle, would give room that nobody counts.
    gc.collect()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as profiler:
        call()
    recorded: Any = profiler.profiler
    return cpu_trace(recorded.kineto_results.experimental_event_tree())


def cpu_trace(roots: Sequence[Any]) -> AllocatorTrace:
    """The trace of a profiler's event tree; the profiler keeps no ring, so nothing of its start is lost."""
    found: list[_Raw] = []
    for root in roots:
        _walk(root, found)
    # What happened in the same nanosecond keeps the order of the tree.
    records = _without_older(sorted(found, key=lambda raw: raw[:2]))
    steps = [
        TraceStep(order, kind, address, size, label)  # type: ignore[arg-type]
        for order, (_, _, kind, address, size, label) in enumerate(records)
    ]
    return seal_trace("cpu-profiler", 1, steps, from_start=True)


def _without_older(records: list[_Raw]) -> Iterator[_Raw]:
    """Leave out frees of ranges from before the trace.

    The profiler tells few of them, with the size of whatever it saw at that address in an earlier session.
    """
    allocated: set[int] = set()
    for record in records:
        kind, address = record[2:4]
        if kind == "alloc":
            allocated.add(address)
        if kind != "free" or address in allocated:
            yield record


def _walk(root: Any, found: list[_Raw]) -> None:
    """Depth first, without recursion: a step's events nest as deep as its calls."""
    pending: list[Iterator[_Raw] | Any] = [root]
    while pending:
        event = pending.pop()
        if isinstance(event, tuple):
            found.append((event[0], len(found), *event[2:]))
            continue
        begin, end = _records(event)
        if begin:
            found.append((begin[0], len(found), *begin[2:]))
        if end:
            pending.append(end)
        pending.extend(reversed(event.children))


def _records(event: Any) -> tuple[_Raw | None, _Raw | None]:
    """What an event says when it begins and when it ends."""
    if event.typed[0].name == "Allocation":
        size, address = event.extra_fields.alloc_size, event.extra_fields.ptr
        kind = "alloc" if size > 0 else "free"
        return ((event.start_time_ns, 0, kind, address, abs(size), "") if size else None), None
    if event.name.startswith(STAGE_PREFIXES):
        label = str(event.name)
        return (event.start_time_ns, 0, "enter", 0, 0, label), (event.end_time_ns, 0, "exit", 0, 0, label)
    return None, None
