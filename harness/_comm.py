"""The one module that touches torch.distributed: process groups, differentiable collectives, control.

Every collective is a no-op on an axis of size 1, so one code path serves every shape. Each is noted before it
starts, so that a hang can be told by what every rank did last.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from harness._lastcall import LastCollective
from harness.model._config import require_expert_places
from schemas import InvalidInputError

# Newer names of the same two operations; older torch only knows the longer ones.
_all_gather: Callable[..., Any] = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
_reduce_scatter: Callable[..., Any] = (
    getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
)


_AXES = ("tp", "cp", "ep", "etp", "edp")


@dataclass(frozen=True, slots=True)
class Axis:
    """One parallel direction: its process group (None at size 1), its size, this process's place in it."""

    name: str
    size: int
    rank: int
    group: Any
    last: LastCollective

    def note(self, operation: str, tensor: Tensor) -> None:
        """Record the collective that is about to start."""
        self.last.note(operation, self.name, tuple(tensor.shape))


@dataclass(frozen=True, slots=True)
class Groups:
    """The process groups of one rank, and a control group of its own.

    Tensor and context axes make up the world. For expert layers the same ranks are split once more, into
    expert-tensor, expert and expert-replica axes (`etp` * `ep` * `edp` = `tp` * `cp`).
    """

    tp: Axis
    cp: Axis
    ep: Axis
    etp: Axis
    edp: Axis
    rank: int
    world_size: int
    last: LastCollective
    control: Any
    owns_process_group: bool


def single_process(last: LastCollective | None = None) -> Groups:
    """Groups of a run without torch.distributed: every axis has size 1."""
    last = last or LastCollective()
    axes = {name: Axis(name, 1, 0, None, last) for name in _AXES}
    return Groups(**axes, rank=0, world_size=1, last=last, control=None, owns_process_group=False)


def open_groups(
    *,
    tp: int,
    cp: int,
    rank: int,
    world_size: int,
    init_method: str,
    ep: int = 1,
    etp: int = 1,
    backend: str = "gloo",
    timeout_s: float = 300.0,
    control_timeout_s: float = 1800.0,
    last: LastCollective | None = None,
) -> Groups:
    """Join the world and split it: rank = cp_index * tp + tp_index. A world of one opens nothing.

    `timeout_s` bounds each collective of a step; `control_timeout_s` bounds agreement between ranks and must
    exceed the longest compilation.

    Raises:
        InvalidInputError: tp*cp is not the world size, or ep and etp do not divide it.
    """
    if tp * cp != world_size or not 0 <= rank < world_size:
        raise InvalidInputError(
            f"tp={tp} times cp={cp} is {tp * cp}, but rank {rank} of {world_size} was started; "
            "start as many processes as the shape has ranks"
        )
    lists = axis_ranks(tp=tp, cp=cp, ep=ep, etp=etp)
    if world_size == 1:
        return single_process(last)
    last = last or LastCollective()
    _quiet()
    dist.init_process_group(
        backend,
        init_method=init_method,
        rank=rank,
        world_size=world_size,
        timeout=timedelta(seconds=timeout_s),
    )
    axes = {name: _open_axis(name, ranks, rank, timeout_s, last) for name, ranks in lists.items()}
    control = dist.new_group(backend="gloo", timeout=timedelta(seconds=control_timeout_s))
    return Groups(
        **axes, rank=rank, world_size=world_size, last=last, control=control, owns_process_group=True
    )


def axis_ranks(*, tp: int, cp: int, ep: int, etp: int) -> dict[str, list[list[int]]]:
    """The ranks of every group of each axis.

    Expert-tensor ranks are neighbours within a tensor-parallel group; the expert axis runs over what is left
    of it and then over context ranks; replicas come last.

    Raises:
        InvalidInputError: etp does not divide tp, or ep does not divide the tp*cp/etp places.
    """
    require_expert_places(tp=tp, cp=cp, ep=ep, etp=etp)
    dense = np.arange(tp * cp).reshape(cp, tp)
    expert = np.arange(tp * cp).reshape(-1, ep, etp)
    return {
        "tp": dense.tolist(),
        "cp": dense.T.tolist(),
        "ep": expert.transpose(0, 2, 1).reshape(-1, ep).tolist(),
        "etp": expert.reshape(-1, etp).tolist(),
        "edp": expert.transpose(1, 2, 0).reshape(ep * etp, -1).tolist(),
    }


def _quiet() -> None:
    warnings.filterwarnings("ignore", message=".*is deprecated.*", module="torch.distributed")


def _open_axis(name: str, lists: list[list[int]], rank: int, timeout_s: float, last: LastCollective) -> Axis:
    """Every rank must create every group, in the same order; it keeps the one that it is in."""
    mine = next(ranks for ranks in lists if rank in ranks)
    if len(mine) == 1:
        return Axis(name, 1, 0, None, last)
    groups = [dist.new_group(ranks, timeout=timedelta(seconds=timeout_s)) for ranks in lists]
    return Axis(name, len(mine), mine.index(rank), groups[lists.index(mine)], last)


def close_groups(groups: Groups) -> None:
    """Leave the world. Call it on every rank before the process ends."""
    if groups.owns_process_group and dist.is_initialized():
        dist.destroy_process_group()


def gather_control(groups: Groups, values: Sequence[int]) -> list[list[int]]:
    """Every rank's integers, by rank: for agreement between ranks, never inside a timed part.

    All ranks must send equally many.
    """
    mine = torch.tensor(list(values), dtype=torch.int64)
    if groups.world_size == 1:
        return [mine.tolist()]
    groups.last.note("gather_control", "control", tuple(mine.shape))
    out = [torch.empty_like(mine) for _ in range(groups.world_size)]
    dist.all_gather(out, mine, group=groups.control)
    return [part.tolist() for part in out]


def gather_control_text(groups: Groups, text: str) -> list[str]:
    """Every rank's string, by rank (an end report, say); never inside a timed part."""
    if groups.world_size == 1:
        return [text]
    groups.last.note("gather_control_text", "control", (len(text),))
    out: list[Any] = [None] * groups.world_size
    dist.all_gather_object(out, text, group=groups.control)
    return [str(part) for part in out]


def barrier(groups: Groups) -> None:
    """All ranks meet, over the control group."""
    if groups.world_size > 1:
        groups.last.note("barrier", "control", ())
        dist.barrier(group=groups.control)


def all_reduce(tensor: Tensor, axis: Axis) -> Tensor:
    """Sum over the axis, in place, without gradient."""
    if axis.size > 1:
        axis.note("all_reduce", tensor)
        dist.all_reduce(tensor, group=axis.group)
    return tensor


def all_gather(tensor: Tensor, axis: Axis) -> Tensor:
    """Concatenation over the axis along dimension 0, without gradient."""
    if axis.size == 1:
        return tensor
    tensor = tensor.contiguous()
    axis.note("all_gather", tensor)
    out = tensor.new_empty((axis.size * tensor.shape[0], *tensor.shape[1:]))
    _all_gather(out, tensor, group=axis.group)
    return out


def _all_to_all(tensor: Tensor, axis: Axis) -> Tensor:
    tensor = tensor.contiguous()
    axis.note("all_to_all", tensor)
    out = torch.empty_like(tensor)
    dist.all_to_all_single(out, tensor, group=axis.group)
    return out


def _all_to_all_rows(tensor: Tensor, axis: Axis, send: Sequence[int], receive: Sequence[int]) -> Tensor:
    tensor = tensor.contiguous()
    axis.note("all_to_all_rows", tensor)
    out = tensor.new_empty((sum(receive), *tensor.shape[1:]))
    dist.all_to_all_single(out, tensor, list(receive), list(send), group=axis.group)
    return out


class _Replicate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, axis: Axis) -> Tensor:
        ctx.axis = axis
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return all_reduce(grads[0].clone(memory_format=torch.contiguous_format), ctx.axis), None


class _Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, axis: Axis) -> Tensor:
        return all_reduce(tensor.clone(memory_format=torch.contiguous_format), axis)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return grads[0], None


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, axis: Axis) -> Tensor:
        ctx.axis = axis
        return all_gather(tensor, axis)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        grad, axis = grads[0].contiguous(), ctx.axis
        axis.note("reduce_scatter", grad)
        out = grad.new_empty((grad.shape[0] // axis.size, *grad.shape[1:]))
        _reduce_scatter(out, grad, group=axis.group)
        return out, None


class _Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, axis: Axis) -> Tensor:
        ctx.axis = axis
        return _all_to_all(tensor, axis)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return _all_to_all(grads[0], ctx.axis), None


class _ExchangeRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, axis: Axis, send: Sequence[int], receive: Sequence[int]) -> Tensor:
        ctx.axis, ctx.send, ctx.receive = axis, send, receive
        return _all_to_all_rows(tensor, axis, send, receive)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        return _all_to_all_rows(grads[0], ctx.axis, ctx.receive, ctx.send), None, None, None


def replicate(tensor: Tensor, axis: Axis) -> Tensor:
    """Entry of a part that is split over the axis: identity forward, sum of the gradients backward."""
    return tensor if axis.size == 1 else _Replicate.apply(tensor, axis)  # type: ignore[return-value]


def reduce(tensor: Tensor, axis: Axis) -> Tensor:
    """Exit of a part that is split over the axis: sum forward, identity backward."""
    return tensor if axis.size == 1 else _Reduce.apply(tensor, axis)  # type: ignore[return-value]


def gather(tensor: Tensor, axis: Axis) -> Tensor:
    """Shards [n, ...] to the whole [size*n, ...] in rank order; the gradient is reduce-scattered."""
    return tensor if axis.size == 1 else _Gather.apply(tensor, axis)  # type: ignore[return-value]


def exchange(tensor: Tensor, axis: Axis) -> Tensor:
    """Transpose parts and ranks: part j of [size, ...] goes to rank j; part i comes from rank i."""
    return tensor if axis.size == 1 else _Exchange.apply(tensor, axis)  # type: ignore[return-value]


def exchange_rows(tensor: Tensor, axis: Axis, send: Sequence[int], receive: Sequence[int]) -> Tensor:
    """Runs of rows of [n, ...]: the first send[0] go to rank 0 and so on; receive[i] come from rank i."""
    if axis.size == 1:
        return tensor
    return _ExchangeRows.apply(tensor, axis, send, receive)  # type: ignore[return-value]
