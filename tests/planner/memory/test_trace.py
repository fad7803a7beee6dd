from dataclasses import replace

import pytest

from planner.memory import TraceStep, seal_trace

STEPS = (
    TraceStep(0, "enter", label="fc2"),
    TraceStep(1, "alloc", 4096, 64),
    TraceStep(2, "exit", label="fc2"),
    TraceStep(3, "free", 4096, 64),
)


def test_a_fresh_trace_has_its_own_digest():
    trace = seal_trace("cpu-profiler", 1, STEPS, from_start=True)
    assert trace.digest == trace.computed_digest()
    assert trace.steps == STEPS


@pytest.mark.parametrize(
    "change",
    [
        {"source": "cuda-history"},
        {"granularity": 512},
        {"from_start": False},
        {"already_held": ((1, 2),)},
        {"steps": STEPS[1:]},
        {"steps": STEPS[:-1]},
        {"steps": (STEPS[1], STEPS[0], *STEPS[2:])},
        {"steps": (*STEPS[:3], replace(STEPS[3], address=4097))},
        {"steps": (*STEPS[:3], replace(STEPS[3], size=63))},
        {"steps": (*STEPS[:3], replace(STEPS[3], kind="alloc"))},
        {"steps": (replace(STEPS[0], label="fc1"), *STEPS[1:])},
    ],
    ids=lambda change: next(iter(change)),
)
def test_any_change_shows_in_the_digest(change):
    trace = seal_trace("cpu-profiler", 1, STEPS, from_start=True)
    changed = replace(trace, **change)
    assert changed.digest != changed.computed_digest()


def test_the_order_of_what_was_held_before_does_not_matter():
    one, other = (
        seal_trace("cuda-history", 512, (), from_start=True, already_held=held)
        for held in ([(1, 2), (8, 4)], [(8, 4), (1, 2)])
    )
    assert one == other
