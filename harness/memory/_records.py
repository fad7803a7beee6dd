"""The planner's decisions and traces as records of the log, and traces back from them."""

from collections.abc import Iterator, Sequence

from planner.memory import (
    Admission,
    AllocatorTrace,
    MemoryBudgetError,
    Observation,
    Pricing,
    Signature,
    TraceStep,
)
from schemas import (
    TRACE_STEPS_PER_EVENT,
    AdmissionRefused,
    AdmissionSplit,
    CorruptionError,
    MemoryObserved,
    MemorySignature,
    MemoryStep,
    MemoryTrace,
    SplitPart,
)


def signature_record(signature: Signature) -> MemorySignature:
    """A signature as a record."""
    return MemorySignature(
        model=signature.model, topology=signature.topology, grad=signature.grad, outputs=signature.outputs
    )


def observation_record(
    signature: Signature, pricing: Pricing, observation: Observation, trace: AllocatorTrace | None
) -> MemoryObserved:
    """What was seen beside what this pricing says of it."""
    return MemoryObserved(
        signature=signature_record(signature),
        packed_tokens=observation.size.packed_tokens,
        logical_tokens=observation.size.logical_tokens,
        outputs=observation.size.outputs,
        priced_tokens=pricing.priced_tokens(observation.size),
        formula=pricing.formula,
        predicted_peak_bytes=pricing.required_bytes(observation.size),
        observed_peak_bytes=observation.peak_bytes,
        retained_bytes=observation.retained_bytes,
        trace=trace.digest if trace else None,
    )


def refusal_record(
    signature: Signature, pricing: Pricing, error: MemoryBudgetError, *, rows: int, tokens: int
) -> AdmissionRefused:
    """A refusal, as its error tells it."""
    return AdmissionRefused(
        signature=signature_record(signature),
        formula=pricing.formula,
        rows=rows,
        logical_tokens=tokens,
        predicted_peak_bytes=error.predicted_peak_bytes,
        usable_limit_bytes=error.usable_limit_bytes,
        suggestion=error.suggestion,
    )


def split_record(signature: Signature, pricing: Pricing, admission: Admission) -> AdmissionSplit:
    """A split, part by part."""
    parts = tuple(
        SplitPart(
            rows=part.rows,
            packed_tokens=part.size.packed_tokens,
            logical_tokens=part.size.logical_tokens,
            required_bytes=part.price.required_bytes,
            retained_bytes=part.price.retained_bytes,
            memory_minimal=part.memory_minimal,
        )
        for part in admission.subforwards
    )
    return AdmissionSplit(
        signature=signature_record(signature),
        formula=pricing.formula,
        predicted_peak_bytes=admission.required_bytes,
        usable_limit_bytes=admission.usable_limit_bytes,
        parts=parts,
    )


def trace_records(trace: AllocatorTrace) -> Iterator[MemoryTrace]:
    """A trace in parts that each fit a line of the log."""
    starts = range(0, max(1, len(trace.steps)), TRACE_STEPS_PER_EVENT)
    for part, start in enumerate(starts):
        yield MemoryTrace(
            trace=trace.digest,
            source=trace.source,  # type: ignore[arg-type]
            granularity=trace.granularity,
            from_start=trace.from_start,
            already_held=trace.already_held if part == 0 else (),
            part=part,
            parts=len(starts),
            first_order=start,
            steps=tuple(
                MemoryStep(kind=step.kind, address=step.address, size=step.size, label=step.label)
                for step in trace.steps[start : start + TRACE_STEPS_PER_EVENT]
            ),
        )


def trace_of_records(records: Sequence[MemoryTrace]) -> AllocatorTrace:
    """The trace again, from its parts in any order; `planner.memory.replay` checks its digest.

    Raises:
        CorruptionError: parts are missing, repeated or of several traces.
    """
    parts = sorted(records, key=lambda record: record.part)
    first = parts[0] if parts else None
    expected = list(range(first.parts)) if first else [0]
    if [record.part for record in parts] != expected or len({record.trace for record in parts}) != 1:
        raise CorruptionError(
            f"a trace needs each of its parts once, got {[record.part for record in parts]} of "
            f"{sorted({record.trace[:12] for record in parts})}"
        )
    assert first is not None
    steps = tuple(
        TraceStep(record.first_order + place, step.kind, step.address, step.size, step.label)
        for record in parts
        for place, step in enumerate(record.steps)
    )
    return AllocatorTrace(
        first.source, first.granularity, first.from_start, first.already_held, steps, first.trace
    )
