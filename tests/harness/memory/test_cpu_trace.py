import gc

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, record_function

from harness.memory import record_cpu_trace
from harness.memory._cpu_trace import cpu_trace
from planner.memory import replay


def test_a_trace_of_known_tensors():
    def call():
        first = torch.empty(1000, dtype=torch.float32)
        with record_function("memory.inner"):
            second = torch.empty(500, dtype=torch.float32)
            with record_function("not a stage"):
                third = torch.empty(300, dtype=torch.float32)
            del second
        del first, third

    found = replay(record_cpu_trace(call))
    assert [buffer.size for buffer in found.buffers] == [4000, 2000, 1200]
    assert [buffer.stages for buffer in found.buffers] == [(), ("memory.inner",), ("memory.inner",)]
    assert found.peak_bytes == 7200 and found.in_use[-1] == 0
    assert found.in_use[found.runs_of("memory.inner")[0].left] == 5200


def test_the_replay_agrees_with_the_profilers_own_account_at_every_event():
    x = torch.randn(64, 32)
    weight = torch.randn(32, 32, requires_grad=True)

    gc.collect()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as profiler:
        for _ in range(3):
            torch.nn.functional.silu(x @ weight).pow(2).sum().backward()
    roots = profiler.profiler.kineto_results.experimental_event_tree()
    totals, pending = [], list(roots)
    while pending:
        event = pending.pop()
        pending.extend(event.children)
        if event.typed[0].name == "Allocation" and event.extra_fields.alloc_size:
            totals.append((event.start_time_ns, event.extra_fields.total_allocated))
    trace = cpu_trace(roots)
    found = replay(trace)
    said = [total for _, total in sorted(totals)]
    own = [
        used for used, step in zip(found.in_use, trace.steps, strict=True) if step.kind in ("alloc", "free")
    ]
    assert len(own) > 30
    # The profiler counts from whatever it had counted before.
    assert {theirs - ours for theirs, ours in zip(said, own, strict=True)} == {said[0] - own[0]}


def test_a_tensor_from_before_that_is_freed_inside_leaves_no_trace():
    """Nor does one that an earlier session saw allocated: memory in use is never put below where it began."""
    old = []
    record_cpu_trace(lambda: old.append(torch.empty(1000)))

    def call():
        old.clear()
        old.append(torch.empty(500))

    found = replay(record_cpu_trace(call))
    assert found.complete and found.in_use == (2000,)


def test_what_the_call_raises_passes_through():
    def call():
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        record_cpu_trace(call)
