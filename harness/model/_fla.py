"""The gated delta rule by flash-linear-attention's kernels, level by level; an optional extra, CUDA alone."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from harness._deltaplan import TokenLevel

Kernel = Callable[..., tuple[Tensor, Any]]


@cache
def chunk_kernel() -> Kernel | None:
    """`chunk_gated_delta_rule` of the package `fla`, None where it is not installed."""
    try:
        return import_module("fla.ops.gated_delta_rule").chunk_gated_delta_rule
    except ImportError:
        return None


def fla_serves(device: torch.device, dtype: str) -> bool:
    """Whether the kernels are there for this: CUDA, bfloat16 and the extra installed."""
    return device.type == "cuda" and dtype == "bfloat16" and chunk_kernel() is not None


def level_delta_rule(
    kernel: Kernel, q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, levels: tuple[TokenLevel, ...]
) -> Tensor:
    """Outputs [T, H, value] of q, k [T, H, key], v [T, H, value], g and beta [T, H] in packed order.

    As `tree_delta_rule`, q scaled already: a level's segments are one batch of sequences, which begin with
    their parents' end states (in float32, as the kernels keep them).
    """
    outputs: list[Tensor] = []
    ends: Tensor | None = None
    sizes = [level.tokens for level in levels]
    parts = zip(levels, *(tensor.split(sizes) for tensor in (q, k, v, g, beta)), strict=True)
    for level, *tokens in parts:
        start = None if level.parents is None or ends is None else ends.index_select(0, level.parents)
        output, ends = kernel(
            *(tensor.unsqueeze(0) for tensor in tokens),
            scale=1.0,
            initial_state=start,
            output_final_state=True,
            cu_seqlens=level.bounds,
        )
        outputs.append(output.squeeze(0))
    return torch.cat(outputs)
