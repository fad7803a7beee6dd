import random
from dataclasses import replace

import pytest

from planner.memory import TraceError, TraceStep, find_buffers, replay, seal_trace
from schemas import CorruptionError


def trace_of(*records, from_start=True, held=(), granularity=1):
    """Records as `("alloc" or "free", address, size)` and `("enter" or "exit", label)`."""
    steps = [
        TraceStep(order, kind, *rest) if kind in ("alloc", "free") else TraceStep(order, kind, label=rest[0])
        for order, (kind, *rest) in enumerate(records)
    ]
    return seal_trace("test", granularity, steps, from_start=from_start, already_held=held)


STEP = (
    ("alloc", 0, 10),
    ("enter", "layer"),
    ("alloc", 10, 20),
    ("enter", "sum"),
    ("alloc", 40, 5),
    ("exit", "sum"),
    ("free", 10, 20),
    ("exit", "layer"),
    ("alloc", 12, 8),
    ("free", 0, 10),
)


def test_a_replay_by_hand():
    found = replay(trace_of(*STEP))
    assert found.complete and found.unknown_frees == 0
    assert found.in_use == (10, 10, 30, 30, 35, 35, 15, 15, 23, 13)
    assert found.peak_bytes == 35
    assert "the whole run" in found.proves
    (point,) = found.runs_of("sum")
    assert (point.entered, point.left) == (3, 5)
    assert [buffer.address for buffer in found.alive_after(point.left)] == [0, 10, 40]
    assert [buffer.stages for buffer in found.buffers] == [(), ("layer",), ("layer", "sum"), ()]


def naive_peak(records):
    """Bytes in use after each record, the whole set of ranges kept."""
    ranges, peak = {}, 0
    for kind, *rest in records:
        if kind == "alloc":
            ranges[rest[0]] = rest[1]
        elif kind == "free":
            del ranges[rest[0]]
        peak = max(peak, sum(ranges.values()))
    return peak


def random_records(rng):
    records, live = [], []
    for _ in range(rng.randint(1, 60)):
        if live and rng.random() < 0.45:
            address, size = live.pop(rng.randrange(len(live)))
            records.append(("free", address, size))
            continue
        slot = rng.choice([s for s in range(70) if all(s * 100 != address for address, _ in live)])
        live.append((slot * 100, rng.randint(1, 100)))
        records.append(("alloc", *live[-1]))
    return records


def test_the_peak_is_that_of_the_plain_account():
    rng = random.Random(2)
    for _ in range(300):
        records = random_records(rng)
        found = replay(trace_of(*records))
        assert found.peak_bytes == naive_peak(records)
        for order in range(len(records)):
            assert sum(buffer.size for buffer in found.alive_after(order)) == found.in_use[order]


def test_a_missing_beginning_is_reported_and_proves_only_its_intervals():
    """What a ring that overflowed keeps: frees of ranges, and ends of stages, that began before."""
    cut = STEP[4:]
    found = replay(trace_of(*cut, from_start=False))
    assert not found.complete
    assert found.unknown_frees == 2
    assert "only the intervals of the 2 ranges" in found.proves and "lower bound" in found.proves
    assert found.peak_bytes == 13 < replay(trace_of(*STEP)).peak_bytes
    assert not found.runs_of("layer")


def test_a_missing_beginning_that_is_denied_is_an_unmatched_free():
    with pytest.raises(TraceError, match="never allocated"):
        replay(trace_of(*STEP[6:7]))
    with pytest.raises(TraceError, match="ends inside"):
        replay(trace_of(*STEP[5:6]))


def test_an_unmatched_free_is_detected():
    with pytest.raises(TraceError, match=r"step 1: 0x7 is freed and was never allocated"):
        replay(trace_of(("alloc", 0, 4), ("free", 7, 4)))
    with pytest.raises(TraceError, match="3 bytes are freed at 0x0, where 4 are in use"):
        replay(trace_of(("alloc", 0, 4), ("free", 0, 3)))


@pytest.mark.parametrize("from_start", [True, False])
def test_a_double_free_is_detected(from_start):
    records = [("alloc", 0, 4), ("free", 0, 4), ("free", 0, 4)]
    with pytest.raises(TraceError, match="step 2: 0x0 is freed a second time"):
        replay(trace_of(*records, from_start=from_start))


def test_a_double_free_of_a_range_from_before_is_detected():
    with pytest.raises(TraceError, match="second time"):
        replay(trace_of(("free", 0, 4), ("free", 0, 4), from_start=False))


@pytest.mark.parametrize("second", [(0, 4), (3, 1), (0, 1), (2, 10), (-3, 20), (-3, 4)])
def test_overlapping_ranges_are_detected(second):
    with pytest.raises(TraceError, match=r"step 2: .* overlap"):
        replay(trace_of(("alloc", 100, 1), ("alloc", 0, 4), ("alloc", *second)))


@pytest.mark.parametrize("second", [(4, 6), (-2, 2), (90, 10)])
def test_adjacent_ranges_are_disjoint(second):
    assert replay(trace_of(("alloc", 100, 1), ("alloc", 0, 4), ("alloc", *second))).complete


def test_an_address_may_be_used_again_after_its_free():
    assert replay(trace_of(*[("alloc", 0, 4), ("free", 0, 4)] * 3)).peak_bytes == 4


def test_altered_and_reordered_records_are_detected():
    trace = trace_of(*STEP)
    swapped = (*trace.steps[:2], trace.steps[4], trace.steps[3], trace.steps[2], *trace.steps[5:])
    larger = (*trace.steps[:2], replace(trace.steps[2], size=21), *trace.steps[3:])
    for steps in (swapped, larger, trace.steps[:-1], trace.steps[1:]):
        with pytest.raises(TraceError, match="altered"):
            replay(replace(trace, steps=steps))


def test_a_reordering_with_a_fresh_digest_is_detected_by_its_numbers():
    steps = trace_of(*STEP).steps
    for order in ([1, 0, *range(2, 10)], [0, 2, *range(3, 10)]):
        with pytest.raises(TraceError, match="missing or reordered"):
            replay(seal_trace("test", 1, [steps[i] for i in order], from_start=True))


def test_ranges_held_from_before_may_be_freed_and_overlapped_by_none():
    held = ((0, 10),)
    found = replay(trace_of(("alloc", 10, 5), ("free", 0, 10), held=held))
    assert found.complete and found.in_use == (5, -5) and found.peak_bytes == 5
    assert [buffer.address for buffer in found.buffers] == [10]
    with pytest.raises(TraceError, match="overlap"):
        replay(trace_of(("alloc", 9, 5), held=held))


def test_crossed_stages_are_detected():
    with pytest.raises(TraceError, match="'a' ends inside 'b'"):
        replay(trace_of(("enter", "a"), ("enter", "b"), ("exit", "a")))


def test_each_wanted_buffer_gets_a_range_of_its_own():
    found = replay(
        trace_of(("enter", "a"), ("alloc", 0, 8), ("alloc", 8, 8), ("exit", "a"), ("alloc", 20, 8))
    )
    alive = found.alive_after(4)
    two = find_buffers(alive, {"x": (8, "a"), "y": (8, "a")})
    assert {buffer.address for buffer in two.values()} == {0, 8}
    with pytest.raises(TraceError, match="not in use at this point: z;"):
        find_buffers(alive, {"x": (8, "a"), "y": (8, "a"), "z": (8, "a")})
    with pytest.raises(TraceError, match="x"):
        find_buffers(alive, {"x": (7, "a")})
    assert find_buffers(alive, {"x": (7, "a")}, granularity=2)


def test_a_contradiction_is_corruption():
    assert issubclass(TraceError, CorruptionError)
