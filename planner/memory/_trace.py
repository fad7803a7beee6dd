"""Allocator traces: what was allocated and freed, in order, with named stages; one form for every source."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

StepKind = Literal["alloc", "free", "enter", "exit"]


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One record: a range of addresses comes or goes, or a named stage begins or ends.

    Args:
        order: place in the trace, from 0, without gaps.
        kind: `alloc`, `free`, `enter` or `exit`.
        address: first byte of the range; 0 for a stage.
        size: bytes of the range; 0 for a stage.
        label: the stage's name; empty for a range.
    """

    order: int
    kind: StepKind
    address: int = 0
    size: int = 0
    label: str = ""


@dataclass(frozen=True, slots=True)
class AllocatorTrace:
    """What an allocator did, sealed by a digest when it was recorded.

    Args:
        source: `cpu-profiler` or `cuda-history`.
        granularity: allocations are rounded up to a multiple of so many bytes.
        from_start: whether the recorder vouches that nothing before the first step is missing.
        already_held: ranges in use when recording began, (address, size).
        steps: the records.
        digest: sha256 of all the above.
    """

    source: str
    granularity: int
    from_start: bool
    already_held: tuple[tuple[int, int], ...]
    steps: tuple[TraceStep, ...]
    digest: str

    def computed_digest(self) -> str:
        """What the digest has to be."""
        return _digest(self.source, self.granularity, self.from_start, self.already_held, self.steps)


def seal_trace(
    source: str,
    granularity: int,
    steps: Iterable[TraceStep],
    *,
    from_start: bool,
    already_held: Iterable[tuple[int, int]] = (),
) -> AllocatorTrace:
    """Make a trace of fresh records; any later change of one, or of their order, shows in the digest."""
    held, kept = tuple(sorted(already_held)), tuple(steps)
    digest = _digest(source, granularity, from_start, held, kept)
    return AllocatorTrace(source, granularity, from_start, held, kept, digest)


def _digest(
    source: str,
    granularity: int,
    from_start: bool,
    held: tuple[tuple[int, int], ...],
    steps: tuple[TraceStep, ...],
) -> str:
    found = hashlib.sha256(f"{source!r} {granularity} {int(from_start)}\n".encode())
    for address, size in held:
        found.update(f"held {address} {size}\n".encode())
    for step in steps:
        found.update(f"{step.order} {step.kind} {step.address} {step.size} {step.label!r}\n".encode())
    return found.hexdigest()
