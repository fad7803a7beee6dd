"""A frozen projection with a trained low-rank adapter (Hu et al. 2021), split over tensor-parallel ranks."""

from typing import Literal

import torch
from torch import Tensor, nn

from harness.model._weights import WeightSource

Split = Literal["none", "column", "row"]


class LoraLinear(nn.Module):
    """y = x W^T + (alpha/rank) (x A^T) B^T with W [out, in] frozen, A [rank, in] and B [out, rank] trained.

    A column split keeps the rows `index` of W and B, a row split the columns `index` of W and A. What is not
    split (A of a column split, B of a row split) is whole on every rank with a partial gradient there.
    """

    def __init__(
        self,
        source: WeightSource,
        name: str,
        *,
        inputs: int,
        outputs: int,
        rank: int,
        alpha: float,
        split: Split = "none",
        index: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.split, self.index, self.scale = split, index, alpha / rank
        weight = source.normal(f"{name}.weight", (outputs, inputs), inputs**-0.5)
        # B is not zero as at the start of training: then A would have no gradient to compare.
        lora_a = source.normal(f"{name}.lora_a", (rank, inputs), inputs**-0.5)
        lora_b = source.normal(f"{name}.lora_b", (outputs, rank), 0.1 * rank**-0.5)
        weight = self.take("lora_b", weight) if split == "column" else self.take("lora_a", weight)
        self.register_buffer("weight", weight.contiguous())
        self.lora_a = nn.Parameter(self.take("lora_a", lora_a).contiguous())
        self.lora_b = nn.Parameter(self.take("lora_b", lora_b).contiguous())

    def take(self, parameter: str, full: Tensor) -> Tensor:
        """Part of a whole adapter matrix (or of its gradient) that this rank holds."""
        if self.index is None or (self.split, parameter) in {("column", "lora_a"), ("row", "lora_b")}:
            return full
        return full.index_select(0 if self.split == "column" else 1, self.index.to(full.device))

    def partial(self) -> nn.Parameter | None:
        """The adapter whose gradient must be summed over tensor-parallel ranks."""
        return {"none": None, "column": self.lora_a, "row": self.lora_b}[self.split]

    def forward(self, x: Tensor) -> Tensor:
        """[tokens, inputs of this rank] to [tokens, outputs of this rank]."""
        low = x @ self.lora_a.t()
        return torch.addmm(x @ self.weight.t(), low, self.lora_b.t(), alpha=self.scale)
