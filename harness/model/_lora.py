"""A frozen projection with a trained low-rank adapter (Hu et al. 2021), split over tensor-parallel ranks."""

from typing import Literal

import torch
from torch import Tensor, nn

from harness.model._weights import WeightSource

Split = Literal["none", "column", "row"]


def draw_adapted(
    source: WeightSource, name: str, *, inputs: int, outputs: int, rank: int
) -> dict[str, Tensor]:
    """A whole projection: `weight` [out, in], `lora_a` [rank, in], `lora_b` [out, rank]."""
    return {
        "weight": source.normal(f"{name}.weight", (outputs, inputs), inputs**-0.5),
        "lora_a": source.normal(f"{name}.lora_a", (rank, inputs), inputs**-0.5),
        # Not zero as at the start of training: then A would have no gradient to compare.
        "lora_b": source.normal(f"{name}.lora_b", (outputs, rank), 0.1 * rank**-0.5),
    }


def held_part(split: Split, index: Tensor | None, parameter: str, full: Tensor) -> Tensor:
    """Rows (column split) or columns (row split) `index` of a matrix, or of each of a stack of them.

    All of it where the split does not concern that matrix.
    """
    if index is None or (split, parameter) in {("column", "lora_a"), ("row", "lora_b")}:
        return full
    return full.index_select(-2 if split == "column" else -1, index.to(full.device))


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
        drawn = draw_adapted(source, name, inputs=inputs, outputs=outputs, rank=rank)
        weight, lora_a, lora_b = (self.take(part, full).contiguous() for part, full in drawn.items())
        self.register_buffer("weight", weight)
        self.lora_a, self.lora_b = nn.Parameter(lora_a), nn.Parameter(lora_b)

    def take(self, parameter: str, full: Tensor) -> Tensor:
        """Part of a whole adapter matrix (or of its gradient) that this rank holds."""
        return held_part(self.split, self.index, parameter, full)

    def partial(self) -> nn.Parameter | None:
        """The adapter whose gradient must be summed over tensor-parallel ranks."""
        return {"none": None, "column": self.lora_a, "row": self.lora_b}[self.split]

    def forward(self, x: Tensor) -> Tensor:
        """[tokens, inputs of this rank] to [tokens, outputs of this rank]."""
        low = x @ self.lora_a.t()
        return torch.addmm(x @ self.weight.t(), low, self.lora_b.t(), alpha=self.scale)
