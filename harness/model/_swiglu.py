"""SwiGLU's activation over a fused projection (Shazeer 2020)."""

from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor


class _SwiGlu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, both: Tensor) -> Tensor:
        ctx.save_for_backward(both)
        gate, value = both.chunk(2, -1)
        return functional.silu(gate).mul_(value)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (both,) = ctx.saved_tensors
        gate, value = both.chunk(2, -1)
        along_gate = torch.ops.aten.silu_backward(grads[0] * value, gate)
        return torch.cat([along_gate, grads[0] * functional.silu(gate)], -1)


def swiglu(both: Tensor) -> Tensor:
    """[..., gate and value, 2F] to silu(gate) * value [..., F].

    Keeps its input alone for the backward, as fused kernels do; composed operations also keep silu(gate).
    """
    return _SwiGlu.apply(both)  # type: ignore[return-value]
