"""The form of `torch.cuda.memory._snapshot()`, written out: there may be no such device here."""

import pytest
import torch

from harness.memory import cuda_trace, record_cuda_trace
from harness.memory._cuda_trace import held_blocks
from planner.memory import TraceError, replay


def entry(action, address, size, time):
    return {"action": action, "addr": address, "size": size, "stream": 0, "time_us": time, "frames": []}


def mark(stage, name, time, device=0):
    return {"stage": stage, "name": name, "device": device, "time_us": time}


ENTRIES = [
    entry("segment_alloc", 0x1000, 2 * 2**20, 1),
    entry("alloc", 0x1000, 1024, 2),
    entry("alloc", 0x1400, 512, 5),
    entry("free_requested", 0x1000, 1024, 6),
    entry("free_completed", 0x1000, 1024, 6),
    entry("alloc", 0x1000, 512, 7),
    entry("snapshot", 0, 0, 8),
]
SNAPSHOT = {
    "device_traces": [ENTRIES, []],
    "segments": [],
    "external_annotations": [
        mark("START", "expert.fc2", 5),
        mark("END", "expert.fc2", 7),
        mark("START", "x", 1, 1),
    ],
}


def test_a_history_becomes_the_same_records():
    trace = cuda_trace(SNAPSHOT, 0, max_entries=100)
    assert (trace.source, trace.granularity, trace.from_start) == ("cuda-history", 512, True)
    assert [(step.kind, step.address, step.size, step.label) for step in trace.steps] == [
        ("alloc", 0x1000, 1024, ""),
        ("enter", 0, 0, "expert.fc2"),
        ("alloc", 0x1400, 512, ""),
        ("free", 0x1000, 1024, ""),
        ("alloc", 0x1000, 512, ""),
        ("exit", 0, 0, "expert.fc2"),
    ]
    found = replay(trace)
    assert found.complete and found.peak_bytes == 1536
    assert [buffer.stages for buffer in found.buffers] == [(), ("expert.fc2",), ("expert.fc2",)]


def test_a_block_is_in_use_until_its_free_is_completed():
    snapshot = {
        "device_traces": [[entry("alloc", 0, 512, 1), entry("free_requested", 0, 512, 2)]],
        "segments": [],
    }
    assert replay(cuda_trace(snapshot, 0, max_entries=9)).in_use == (512,)


def test_a_full_ring_has_lost_its_beginning_and_says_so():
    snapshot = {"device_traces": [ENTRIES[3:]], "segments": []}
    found = replay(cuda_trace(snapshot, 0, max_entries=4, already_held=[(0x1000, 512)]))
    assert not found.complete and found.unknown_frees == 1
    assert "only the intervals" in found.proves
    # The same records with room left in the ring: the free has no allocation.
    with pytest.raises(TraceError, match="never allocated"):
        replay(cuda_trace(snapshot, 0, max_entries=5))


def test_blocks_of_before_are_known():
    blocks = [
        {"address": 0x1000, "size": 1024, "state": "active_allocated"},
        {"address": 0x1400, "size": 512, "state": "inactive"},
        {"address": 0x1600, "size": 512, "state": "active_pending_free"},
    ]
    snapshot = {"segments": [{"device": 0, "blocks": blocks}, {"device": 1, "blocks": blocks[:1]}]}
    held = held_blocks(snapshot, 0)
    assert held == [(0x1000, 1024), (0x1600, 512)]
    freed = {"device_traces": [[entry("free_completed", 0x1000, 1024, 1)]]}
    assert replay(cuda_trace(freed, 0, max_entries=9, already_held=held)).complete


def test_of_several_devices_one_is_taken():
    assert cuda_trace(SNAPSHOT, 1, max_entries=9).steps[0].label == "x"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_history_of_known_tensors():
    device = torch.device("cuda:0")
    before = torch.empty(2048, device=device)

    def call():
        nonlocal before
        held = torch.empty(1000, dtype=torch.float32, device=device)
        before = None
        del held

    found = replay(record_cuda_trace(call, device))
    assert found.complete
    assert [buffer.size for buffer in found.buffers] == [4096]
