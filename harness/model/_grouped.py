"""One projection for each expert over tokens that lie expert after expert, and its low-rank adapters."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor, nn
from torch.profiler import record_function

from harness.model._lora import Split, draw_adapted, held_part
from harness.model._weights import WeightSource


def plain_grouped_product(x: Tensor, weight: Tensor, sizes: Sequence[int]) -> Tensor:
    """[N, in] times weight [experts, out, in] transposed: [N, out], one expert after another."""
    out = x.new_empty(x.shape[0], weight.shape[1])
    for part, matrix, into in zip(x.split(sizes), weight, out.split(sizes), strict=True):
        torch.mm(part, matrix.t(), out=into)
    return out


def plain_grouped_outer(grad: Tensor, x: Tensor, sizes: Sequence[int]) -> Tensor:
    """Sums over each expert's tokens of grad [N, out] times x [N, in]: [experts, out, in]."""
    out = x.new_empty(len(sizes), grad.shape[1], x.shape[1])
    for part, seen, into in zip(grad.split(sizes), x.split(sizes), out, strict=True):
        torch.mm(part.t(), seen, out=into)
    return out


def fused_grouped_product(x: Tensor, weight: Tensor, sizes: Sequence[int]) -> Tensor:
    """The same as `plain_grouped_product` in one kernel."""
    return functional.grouped_mm(x, weight.transpose(1, 2), offs=_ends(sizes, x.device))


def fused_grouped_outer(grad: Tensor, x: Tensor, sizes: Sequence[int]) -> Tensor:
    """The same as `plain_grouped_outer` in one kernel."""
    return functional.grouped_mm(grad.t(), x, offs=_ends(sizes, x.device))


def _ends(sizes: Sequence[int], device: torch.device) -> Tensor:
    return torch.tensor(sizes).cumsum(0).to(device, torch.int32)


def fused_serves(x: Tensor, weight: Tensor) -> bool:
    """Whether the one-kernel form is there for these: bfloat16 on compute capability 8.0, 16-byte rows."""
    if not (x.is_cuda and x.dtype == torch.bfloat16 and hasattr(functional, "grouped_mm")):
        return False
    aligned = x.shape[1] % 8 == 0 and weight.shape[1] % 8 == 0
    return aligned and x.shape[0] > 0 and torch.cuda.get_device_capability(x.device) >= (8, 0)


class _GroupedLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, sizes: Sequence[int]) -> Tensor:
        ctx.sizes, ctx.fused = sizes, fused_serves(x, weight)
        # A frozen weight's backward does not need x.
        ctx.save_for_backward(x if ctx.needs_input_grad[1] else None, weight)
        return (fused_grouped_product if ctx.fused else plain_grouped_product)(x, weight, sizes)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        x, weight = ctx.saved_tensors
        grad, along_x, along_weight = grads[0].contiguous(), None, None
        if ctx.needs_input_grad[0]:
            product = fused_grouped_product if ctx.fused else plain_grouped_product
            along_x = product(grad, weight.transpose(1, 2), ctx.sizes)
        if ctx.needs_input_grad[1]:
            along_weight = (fused_grouped_outer if ctx.fused else plain_grouped_outer)(grad, x, ctx.sizes)
        return along_x, along_weight, None


def grouped_linear(x: Tensor, weight: Tensor, sizes: Sequence[int]) -> Tensor:
    """[N, in], weight [experts, out, in]: the first sizes[0] rows by expert 0, and so on; [N, out]."""
    return _GroupedLinear.apply(x, weight, sizes)  # type: ignore[return-value]


class GroupedLora(nn.Module):
    """`LoraLinear` for each of this rank's experts: W [experts, out, in] frozen, an adapter for each trained.

    Split over expert-tensor-parallel ranks as `LoraLinear` is over tensor-parallel ones. `chosen` are the
    experts that this rank holds; `label` names the stage to a profiler.
    """

    def __init__(
        self,
        source: WeightSource,
        name: str,
        *,
        chosen: range,
        inputs: int,
        outputs: int,
        rank: int,
        alpha: float,
        split: Split,
        index: Tensor,
        label: str,
    ) -> None:
        super().__init__()
        self.chosen, self.split, self.index = chosen, split, index
        self.scale, self.label = alpha / rank, label
        drawn = [
            [held_part(split, index, part, full) for part, full in draw.items()]
            for expert in chosen
            if (draw := draw_adapted(source, f"{name}.{expert}", inputs=inputs, outputs=outputs, rank=rank))
        ]
        weight, lora_a, lora_b = (torch.stack(parts) for parts in zip(*drawn, strict=True))
        self.register_buffer("weight", weight)
        self.lora_a, self.lora_b = nn.Parameter(lora_a), nn.Parameter(lora_b)

    def take(self, parameter: str, full: Tensor) -> Tensor:
        """Part of all experts' adapter matrices (or of their gradients) that this rank holds."""
        return held_part(self.split, self.index, parameter, full[self.chosen.start : self.chosen.stop])

    def partial(self) -> nn.Parameter | None:
        """The adapters whose gradient must be summed over expert-tensor-parallel ranks."""
        return {"none": None, "column": self.lora_a, "row": self.lora_b}[self.split]

    def forward(self, x: Tensor, sizes: Sequence[int]) -> Tensor:
        """[N, inputs of this rank], expert after expert, to [N, outputs of this rank]."""
        with record_function(self.label):
            base = grouped_linear(x, self.weight, sizes)
            adapted = grouped_linear(grouped_linear(x, self.lora_a, sizes), self.lora_b, sizes)
            with record_function(f"{self.label}.sum"):
                return torch.add(base, adapted, alpha=self.scale)
