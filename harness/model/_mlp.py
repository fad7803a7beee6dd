"""SwiGLU feed-forward (Shazeer 2020)."""

import torch.nn.functional as functional
from torch import Tensor, nn

from harness._comm import Groups, reduce, replicate
from harness.model._config import ModelConfig
from harness.model._lora import LoraLinear
from harness.model._weights import WeightSource, section_index


class SwiGlu(nn.Module):
    """[local tokens, hidden] to the same shape, summed over tensor-parallel ranks."""

    def __init__(self, source: WeightSource, name: str, config: ModelConfig, groups: Groups) -> None:
        super().__init__()
        self.tp = groups.tp
        tp, adapter = groups.tp, {"rank": config.lora_rank, "alpha": config.lora_alpha}
        self.up = LoraLinear(
            source,
            f"{name}.up",
            inputs=config.hidden,
            outputs=2 * config.ffn,
            split="column",
            index=section_index([config.ffn, config.ffn], tp.size, [tp.rank]),
            **adapter,
        )
        self.down = LoraLinear(
            source,
            f"{name}.down",
            inputs=config.ffn,
            outputs=config.hidden,
            split="row",
            index=section_index([config.ffn], tp.size, [tp.rank]),
            **adapter,
        )

    def forward(self, x: Tensor) -> Tensor:
        """X [local tokens, hidden]."""
        gate, value = self.up(replicate(x, self.tp)).chunk(2, -1)
        return reduce(self.down(functional.silu(gate) * value), self.tp)
