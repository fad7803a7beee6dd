"""Top-k routing of tokens to experts by a frozen router, the same in every layout."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Routing:
    """K experts of each token: `expert` [tokens, K], highest probability first, and their `weight` likewise.

    Weights are probabilities normalized to sum 1 over the K.
    """

    expert: Tensor
    weight: Tensor


def route(x: Tensor, router: Tensor, topk: int) -> Routing:
    """The K most probable experts of x [tokens, hidden] under router [experts, hidden].

    Equal probabilities go to the expert of lower index (a stable sort), so that no kernel's own order of ties
    decides. Probabilities are in float32 at least; weights come back in the dtype of x.
    """
    wide = torch.promote_types(x.dtype, torch.float32)
    probability = (x.to(wide) @ router.to(wide).t()).softmax(-1)
    sorted_, order = probability.sort(dim=-1, descending=True, stable=True)
    chosen = sorted_[:, :topk]
    return Routing(order[:, :topk].contiguous(), (chosen / chosen.sum(-1, keepdim=True)).to(x.dtype))
