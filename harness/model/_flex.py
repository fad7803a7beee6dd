"""Attention over a packed tree in one kernel (Dong et al. 2024, FlexAttention), where a GPU compiles it."""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, flex_attention


@cache
def _compiled() -> Callable[..., Any]:
    # Dynamic: one kernel for every layout's number of tokens.
    return torch.compile(flex_attention, dynamic=True)


def tree_attention(query: Tensor, key: Tensor, value: Tensor, mask: BlockMask) -> Tensor:
    """Query [L, heads, d], key and value [P, kv heads, d] to [L, heads, d].

    Fused on CUDA. On a CPU it is evaluated as written, and torch gives it no gradient there.
    """
    kernel = _compiled() if query.is_cuda else flex_attention
    q, k, v = (part.transpose(0, 1).unsqueeze(0) for part in (query, key, value))
    output = kernel(q, k, v, block_mask=mask, enable_gqa=query.shape[1] != key.shape[1])
    return output.squeeze(0).transpose(0, 1)
