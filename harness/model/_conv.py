"""Short causal depthwise convolution over windows, with frozen taps."""

from typing import Any

import torch
from torch import Tensor


class _WindowConv(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, windows: Tensor, taps: Tensor) -> Tensor:
        ctx.save_for_backward(taps)
        length = windows.shape[1] - taps.shape[0] + 1
        out = windows[:, :length] * taps[0]
        for tap in range(1, taps.shape[0]):
            out.addcmul_(windows[:, tap : tap + length], taps[tap])
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (taps,), grad = ctx.saved_tensors, grads[0]
        batch, length, channels = grad.shape
        out = grad.new_zeros(batch, length + taps.shape[0] - 1, channels)
        for tap in range(taps.shape[0]):
            out[:, tap : tap + length].addcmul_(grad, taps[tap])
        return out, None


def window_conv(windows: Tensor, taps: Tensor) -> Tensor:
    """[N, C+kernel-1, F] and taps [kernel, F] to [N, C, F]: output t sums taps[j] * window[t+j].

    Written out because slicing under autograd makes a full-size gradient for each tap.
    """
    return _WindowConv.apply(windows, taps)  # type: ignore[return-value]
