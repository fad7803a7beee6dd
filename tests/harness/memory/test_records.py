import pytest

from harness.memory import trace_of_records, trace_records
from planner.memory import TraceError, TraceStep, replay, seal_trace
from schemas import MAX_LINE_BYTES, TRACE_STEPS_PER_EVENT, CorruptionError, MemoryTrace, canonical_json


@pytest.fixture
def trace():
    """More steps than one event carries."""
    steps = [TraceStep(0, "enter", label="memory.forward")]
    for pair in range(TRACE_STEPS_PER_EVENT):
        steps.append(TraceStep(len(steps), "alloc", 2**47 + pair * 4096, 2**31))
        steps.append(TraceStep(len(steps), "free", 2**47 + pair * 4096, 2**31))
    return seal_trace("cuda-history", 512, steps, from_start=True, already_held=[(4096, 512)])


def test_a_trace_survives_the_log(trace):
    records = list(trace_records(trace))
    assert len(records) == 3
    lines = [canonical_json(record.plain()) for record in records]
    again = [MemoryTrace.model_validate_json(line) for line in reversed(lines)]
    assert trace_of_records(again) == trace
    assert replay(trace_of_records(again)).complete


def test_every_part_fits_a_line_of_the_log(trace):
    for record in trace_records(trace):
        assert len(canonical_json(record.plain())) < MAX_LINE_BYTES - 10_000


def test_an_empty_trace_survives_too():
    trace = seal_trace("cpu-profiler", 1, (), from_start=True)
    assert trace_of_records(list(trace_records(trace))) == trace


@pytest.mark.parametrize("pick", [[], [0], [0, 1], [0, 1, 1, 2], [1, 2]])
def test_missing_or_repeated_parts_are_refused(trace, pick):
    records = list(trace_records(trace))
    with pytest.raises(CorruptionError, match="each of its parts once"):
        trace_of_records([records[part] for part in pick])


def test_parts_of_two_traces_are_refused(trace):
    records = list(trace_records(trace))
    other = records[1].model_copy(update={"trace": "0" * 64})
    with pytest.raises(CorruptionError):
        trace_of_records([records[0], other, records[2]])


def test_an_altered_record_shows_in_the_replay(trace):
    records = list(trace_records(trace))
    steps = (records[1].steps[0].model_copy(update={"size": 1}), *records[1].steps[1:])
    altered = trace_of_records([records[0], records[1].model_copy(update={"steps": steps}), records[2]])
    with pytest.raises(TraceError, match="altered"):
        replay(altered)
