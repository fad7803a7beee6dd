"""Which token goes where: by expert on its own rank, to the expert's rank, and by expert again there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from harness._comm import Axis, all_gather


class _TakeRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor, inverse: Tensor, copies: int) -> Tensor:
        ctx.save_for_backward(inverse)
        ctx.copies = copies
        return x.index_select(0, index // copies)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        grad = grads[0].index_select(0, ctx.saved_tensors[0])
        if ctx.copies > 1:
            grad = grad.unflatten(0, (-1, ctx.copies)).sum(1)
        return grad, None, None, None


def take_rows(x: Tensor, index: Tensor, inverse: Tensor, *, copies: int = 1) -> Tensor:
    """Rows of x [n, ...], each `copies` times, in the order of a permutation `index` [n*copies]; one gather.

    The gradient is a gather by the `inverse` permutation and a sum over copies: no atomic additions, so it is
    the same bits each time.
    """
    return _TakeRows.apply(x, index, inverse, copies)  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Order:
    """A permutation of rows and its inverse."""

    index: Tensor
    inverse: Tensor

    def apply(self, x: Tensor, *, copies: int = 1) -> Tensor:
        """The rows in this order."""
        return take_rows(x, self.index, self.inverse, copies=copies)

    def undo(self, x: Tensor) -> Tensor:
        """The rows as they were."""
        return take_rows(x, self.inverse, self.index)


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The way of one layer's tokens to their experts, on one rank.

    `by_expert` orders this rank's (token, choice) pairs by expert. Of these `send[j]` rows go to
    expert-parallel rank j, and `receive[j]` come from it. What came lies by rank, then by expert; `by_local`
    orders it by expert alone (None where one expert is all that this rank holds), `sizes` rows for each.
    """

    by_expert: Order
    send: tuple[int, ...]
    receive: tuple[int, ...]
    by_local: Order | None
    sizes: tuple[int, ...]


def dispatch(expert: Tensor, experts: int, axis: Axis) -> Dispatch:
    """The dispatch of choices [tokens, K] among so many experts, equally many on each rank of the axis.

    Within an expert tokens keep their order: by rank, then by place on it.
    """
    flat = expert.reshape(-1)
    index = flat.sort(stable=True)[1]
    # One copy to the host, where the sizes of every later part are needed.
    counts = all_gather(torch.bincount(flat, minlength=experts), axis).cpu().numpy()
    counts = counts.reshape(axis.size, axis.size, -1)  # [source, destination, expert there]
    received = counts[:, axis.rank]
    return Dispatch(
        by_expert=_order(index),
        send=tuple(counts[axis.rank].sum(-1).tolist()),
        receive=tuple(received.sum(-1).tolist()),
        by_local=None if received.shape[1] == 1 else _order(_expert_first(received).to(expert.device)),
        sizes=tuple(received.sum(0).tolist()),
    )


def _order(index: Tensor) -> Order:
    inverse = torch.empty_like(index)
    inverse[index] = torch.arange(len(index), device=index.device)
    return Order(index, inverse)


def _expert_first(received: Sequence[Sequence[int]]) -> Tensor:
    """Rows that lie by (source, expert), counted [sources, experts], in the order (expert, source)."""
    counts = np.asarray(received)
    starts = np.concatenate([[0], counts.reshape(-1).cumsum()[:-1]]).reshape(counts.shape)
    chunks = [
        np.arange(start, start + count)
        for start, count in zip(starts.T.reshape(-1), counts.T.reshape(-1), strict=True)
    ]
    return torch.from_numpy(np.concatenate(chunks).astype(np.int64))
