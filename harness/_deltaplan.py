"""How Gated-DeltaNet layers walk a packed tree: chunks of every level, and how states are handed down.

Each segment is cut into chunks of C tokens, the last one padded. Within a level segments stand by falling
number of chunks, so that those still running at step i are the first ones; chunks lie step after step.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from harness._pack import Ints, PackedRows
from harness.model._config import ModelConfig


@dataclass(frozen=True, slots=True)
class ScanStep:
    """One step of a level: of `active` chunks the first `updated` hand on a state.

    The first `continuing` of these go on to the next step; the others' states are for children.
    """

    active: int
    updated: int
    continuing: int


@dataclass(frozen=True, slots=True)
class DeltaLevel:
    """One level: its number of chunks, its steps, and whose end states its segments begin with.

    `parents` [segments] indexes the previous level's handed-down states; None at the roots, which begin at 0.
    """

    chunks: int
    segments: int
    steps: tuple[ScanStep, ...]
    parents: Tensor | None


@dataclass(frozen=True, slots=True)
class TokenLevel:
    """One level as whole segments: its number of tokens and the bounds [segments+1] between segments.

    `parents` [segments] indexes the previous level's segments; None at the roots.
    """

    tokens: int
    bounds: Tensor
    parents: Tensor | None


@dataclass(frozen=True, slots=True)
class TokenLevels:
    """For kernels that take whole segments: T tokens in packed order, level after level.

    `slots` [T] finds a token in the chunks, `gathered` [T] among gathered tokens, `packed` [P] each gathered
    token in packed order (anywhere for padding).
    """

    slots: Tensor
    gathered: Tensor
    packed: Tensor
    levels: tuple[TokenLevel, ...]


@dataclass(frozen=True, slots=True)
class DeltaPlan:
    """Index tensors for N chunks of C slots, over gathered tokens P (index P is a row of zeros).

    `windows` [N*(C+kernel-1)]: each chunk's tokens with the kernel-1 before them. `gates` [N*C]: tokens,
    zeros at padding (a zero gate leaves the state alone). `slots` [P]: where each gathered token's output
    lies. `whole` is there where the rule runs by kernels that take whole segments.
    """

    windows: Tensor
    gates: Tensor
    slots: Tensor
    chunk: int
    levels: tuple[DeltaLevel, ...]
    whole: TokenLevels | None = None


def delta_plan(
    packed: PackedRows,
    from_packed: Ints,
    to_packed: Ints,
    config: ModelConfig,
    device: torch.device | str,
) -> DeltaPlan:
    """The chunks and levels of a packed batch; the two index arrays relate packed and gathered order."""
    chunk, width = config.gdn_chunk, config.conv_kernel - 1
    levels, order = _levels(packed, chunk, device)
    zero = len(to_packed)
    gathered = np.append(from_packed, zero)  # index -1 reads the row of zeros
    windows = np.full((len(order), width + chunk), -1, dtype=np.int64)
    slot_of = np.zeros(len(packed.tokens) + 1, dtype=np.int64)
    for index, (segment, step) in enumerate(order):
        placed = packed.segments[segment]
        first = step * chunk
        count = min(chunk, placed.length - first)
        before = np.concatenate([packed.history(segment, width), _span(placed.offset, placed.length)])
        windows[index, : width + count] = before[first : first + width + count]
        slot_of[placed.offset + first : placed.offset + first + count] = _span(index * chunk, count)
    gates = windows[:, width:]
    return DeltaPlan(
        windows=torch.from_numpy(gathered[windows.reshape(-1)]).to(device),
        gates=torch.from_numpy(gathered[gates.reshape(-1)]).to(device),
        slots=torch.from_numpy(slot_of[to_packed]).to(device),
        chunk=chunk,
        levels=levels,
    )


def _span(start: int, length: int) -> Ints:
    return np.arange(start, start + length, dtype=np.int64)


def _levels(
    packed: PackedRows, chunk: int, device: torch.device | str
) -> tuple[tuple[DeltaLevel, ...], list[tuple[int, int]]]:
    """The levels, and the (segment, step) of every chunk in the order in which they are computed."""
    has_children = {segment.parent for segment in packed.segments}
    by_level: dict[int, list[int]] = {}
    for index, segment in enumerate(packed.segments):
        by_level.setdefault(segment.level, []).append(index)
    levels: list[DeltaLevel] = []
    order: list[tuple[int, int]] = []
    handed: dict[int, int] = {}
    for level in sorted(by_level):
        counts = {index: -(-packed.segments[index].length // chunk) for index in by_level[level]}
        members = sorted(counts, key=lambda i: (-counts[i], i not in has_children, i))
        steps, ready = _steps(members, counts, has_children)
        parents = None
        if level:
            parents = torch.tensor([handed[packed.segments[i].parent] for i in members], device=device)
        handed = {index: place for place, index in enumerate(ready)}
        chunks = [(i, step) for step, s in enumerate(steps) for i in members[: s.active]]
        levels.append(DeltaLevel(len(chunks), len(members), steps, parents))
        order.extend(chunks)
    return tuple(levels), order


def _steps(
    members: list[int], counts: dict[int, int], has_children: set[int]
) -> tuple[tuple[ScanStep, ...], list[int]]:
    """The steps of a level, and the segments whose end states are handed down, in the order they end."""
    steps: list[ScanStep] = []
    ready: list[int] = []
    for step in range(max(counts.values())):
        active = sum(counts[index] > step for index in members)
        continuing = sum(counts[index] > step + 1 for index in members)
        ending = [index for index in members[continuing:active] if index in has_children]
        steps.append(ScanStep(active, continuing + len(ending), continuing))
        ready.extend(ending)
    return tuple(steps), ready


def token_levels(
    packed: PackedRows,
    from_packed: Ints,
    to_packed: Ints,
    plan: DeltaPlan,
    device: torch.device | str,
) -> TokenLevels:
    """The levels of a packed batch as whole segments; arguments as of `delta_plan`, and its result."""
    by_level: dict[int, list[int]] = {}
    for index, segment in enumerate(packed.segments):
        by_level.setdefault(segment.level, []).append(index)
    levels: list[TokenLevel] = []
    place: dict[int, int] = {}
    for level in sorted(by_level):
        lengths = [packed.segments[index].length for index in by_level[level]]
        above = [packed.segments[index].parent for index in by_level[level]]
        levels.append(
            TokenLevel(
                tokens=sum(lengths),
                bounds=torch.tensor([0, *lengths], device=device).cumsum(0),
                parents=torch.tensor([place[parent] for parent in above], device=device) if level else None,
            )
        )
        place = {index: at for at, index in enumerate(by_level[level])}
    gathered = torch.from_numpy(from_packed).to(device)
    return TokenLevels(
        slots=plan.slots.index_select(0, gathered),
        gathered=gathered,
        packed=torch.from_numpy(np.maximum(to_packed, 0)).to(device),
        levels=tuple(levels),
    )
