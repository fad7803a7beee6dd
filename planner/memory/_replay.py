"""Replay an allocator trace: which ranges are in use together, what the peak is, and how much that proves.

A trace that contradicts itself proves nothing and is refused. One that has lost its beginning is taken, but
what it says of memory in use is a lower bound: it proves the intervals of the ranges allocated in it.
"""

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planner.memory._errors import TraceError
from planner.memory._trace import AllocatorTrace, TraceStep


@dataclass(frozen=True, slots=True)
class Buffer:
    """A range of addresses from its allocation to its free.

    Args:
        address: first byte.
        size: bytes.
        born: order of the allocation; -1 for a range held before the trace.
        died: order of the free; None where it is in use to the end.
        stages: names of the stages that it was allocated in, outermost first.
    """

    address: int
    size: int
    born: int
    died: int | None
    stages: tuple[str, ...]

    def alive_after(self, order: int) -> bool:
        """Whether it is in use once the step of that order is done."""
        return self.born <= order and (self.died is None or order < self.died)


@dataclass(frozen=True, slots=True)
class Stage:
    """One run of a named stage.

    Args:
        label: its name.
        entered: order of its beginning.
        left: order of its end.
    """

    label: str
    entered: int
    left: int


@dataclass(frozen=True, slots=True)
class Replay:
    """What a trace shows.

    Args:
        complete: whether it was recorded from its start; otherwise bytes in use are lower bounds.
        peak_bytes: the most in use at once, above what was held before.
        in_use: bytes in use after each step, above what was held before.
        buffers: every range whose allocation is in the trace, in order of allocation.
        stages: every stage that ended, in order of its end.
        unknown_frees: frees of ranges from before a lost beginning.
    """

    complete: bool
    peak_bytes: int
    in_use: tuple[int, ...]
    buffers: tuple[Buffer, ...]
    stages: tuple[Stage, ...]
    unknown_frees: int

    @property
    def proves(self) -> str:
        """What may be concluded, in words."""
        if self.complete:
            return f"the whole run: {len(self.buffers)} ranges, at most {self.peak_bytes:,} bytes in use"
        return (
            f"only the intervals of the {len(self.buffers)} ranges that were allocated in it; its beginning "
            f"is missing ({self.unknown_frees} frees of older ranges), so {self.peak_bytes:,} bytes is a "
            "lower bound"
        )

    def alive_after(self, order: int) -> tuple[Buffer, ...]:
        """The ranges in use once the step of that order is done, in order of allocation."""
        return tuple(buffer for buffer in self.buffers if buffer.alive_after(order))

    def runs_of(self, label: str) -> tuple[Stage, ...]:
        """The runs of a stage."""
        return tuple(stage for stage in self.stages if stage.label == label)


@dataclass(slots=True)
class _State:
    live: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """Index into `born`, size; by address."""
    addresses: list[int] = field(default_factory=list[int])
    born: list[Buffer] = field(default_factory=list[Buffer])
    freed: set[int] = field(default_factory=set[int])
    open: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    stages: list[Stage] = field(default_factory=list[Stage])
    in_use: list[int] = field(default_factory=list[int])
    unknown: int = 0


def replay(trace: AllocatorTrace) -> Replay:
    """Replay a trace.

    Raises:
        TraceError: altered or reordered steps, an unmatched or double free, ranges that overlap, stages that
            do not nest; names the step.
    """
    if trace.computed_digest() != trace.digest:
        raise TraceError(
            f"the trace was altered: its digest is {trace.computed_digest()}, sealed was {trace.digest}"
        )
    state = _State()
    for address, size in trace.already_held:
        _take(state, TraceStep(-1, "alloc", address, size))
    in_use = 0
    for place, step in enumerate(trace.steps):
        if step.order != place:
            raise TraceError(
                f"step {place} says that it is step {step.order}: steps are missing or reordered"
            )
        match step.kind:
            case "alloc":
                _take(state, step)
                in_use += step.size
            case "free":
                in_use -= _give_back(state, step, trace.from_start)
            case "enter":
                state.open.append((step.label, step.order))
            case "exit":
                _leave(state, step, trace.from_start)
        state.in_use.append(in_use)
    return Replay(
        trace.from_start,
        max(state.in_use, default=0),
        tuple(state.in_use),
        tuple(buffer for buffer in state.born if buffer.born >= 0),
        tuple(state.stages),
        state.unknown,
    )


def find_buffers(
    alive: Sequence[Buffer], wanted: Mapping[str, tuple[int, str]], granularity: int = 1
) -> dict[str, Buffer]:
    """Return a range of its own for each wanted buffer.

    Args:
        alive: ranges in use at one point.
        wanted: by the buffer's name, its bytes and a stage that it must have been allocated in; any or none
            where that is empty. Narrow ones first: a range is given to the first that it fits.
        granularity: the allocator's rounding in bytes.

    Raises:
        TraceError: names the buffers that no range is left for.
    """
    found: dict[str, Buffer] = {}
    left = list(alive)
    for name, (size, stage) in wanted.items():
        for buffer in left:
            if size <= buffer.size < size + granularity and (not stage or stage in buffer.stages):
                found[name] = buffer
                left.remove(buffer)
                break
    if missing := [name for name in wanted if name not in found]:
        raise TraceError(f"not in use at this point: {', '.join(missing)}; {len(alive)} ranges are")
    return found


def _take(state: _State, step: TraceStep) -> None:
    at = bisect_left(state.addresses, step.address)
    for neighbour in state.addresses[max(0, at - 1) : at + 1]:
        size = state.live[neighbour][1]
        if neighbour < step.address + step.size and step.address < neighbour + size:
            raise TraceError(
                f"step {step.order}: {step.size} bytes at {step.address:#x} overlap the {size} in use at "
                f"{neighbour:#x}"
            )
    stages = tuple(label for label, _ in state.open)
    state.live[step.address] = (len(state.born), step.size)
    state.born.append(Buffer(step.address, step.size, step.order, None, stages))
    state.freed.discard(step.address)
    insort(state.addresses, step.address)


def _give_back(state: _State, step: TraceStep, from_start: bool) -> int:
    """End a range; returns its bytes, 0 for one from before a lost beginning."""
    known = state.live.pop(step.address, None)
    if known is None:
        if step.address in state.freed:
            raise TraceError(f"step {step.order}: {step.address:#x} is freed a second time")
        if from_start:
            raise TraceError(f"step {step.order}: {step.address:#x} is freed and was never allocated")
        state.unknown += 1
        state.freed.add(step.address)
        return 0
    index, size = known
    if size != step.size:
        raise TraceError(
            f"step {step.order}: {step.size} bytes are freed at {step.address:#x}, where {size} are in use"
        )
    buffer = state.born[index]
    state.born[index] = Buffer(buffer.address, size, buffer.born, step.order, buffer.stages)
    state.addresses.pop(bisect_left(state.addresses, step.address))
    state.freed.add(step.address)
    return size


def _leave(state: _State, step: TraceStep, from_start: bool) -> None:
    if state.open and state.open[-1][0] == step.label:
        state.stages.append(Stage(step.label, state.open.pop()[1], step.order))
    elif from_start or state.open:
        inner = state.open[-1][0] if state.open else "no stage"
        raise TraceError(f"step {step.order}: stage {step.label!r} ends inside {inner!r}")
