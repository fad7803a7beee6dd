"""SwiGLU feed-forward (Shazeer 2020)."""

from torch import Tensor, nn

from harness._comm import Groups, reduce, replicate
from harness.model._config import ModelConfig
from harness.model._lora import LoraLinear
from harness.model._swiglu import swiglu
from harness.model._weights import WeightSource, section_index


class SwiGlu(nn.Module):
    """[local tokens, hidden] to the same shape, summed over tensor-parallel ranks."""

    def __init__(
        self, source: WeightSource, name: str, config: ModelConfig, groups: Groups, *, width: int
    ) -> None:
        super().__init__()
        self.tp = groups.tp
        tp, adapter = groups.tp, {"rank": config.lora_rank, "alpha": config.lora_alpha}
        self.up = LoraLinear(
            source,
            f"{name}.up",
            inputs=config.hidden,
            outputs=2 * width,
            split="column",
            index=section_index([width, width], tp.size, [tp.rank]),
            **adapter,
        )
        self.down = LoraLinear(
            source,
            f"{name}.down",
            inputs=width,
            outputs=config.hidden,
            split="row",
            index=section_index([width], tp.size, [tp.rank]),
            **adapter,
        )

    def forward(self, x: Tensor) -> Tensor:
        """X [local tokens, hidden]."""
        return reduce(self.partial(replicate(x, self.tp)), self.tp)

    def partial(self, x: Tensor) -> Tensor:
        """Summand of this rank in the output, for x that is replicated over the tensor-parallel ranks."""
        return self.down(swiglu(self.up(x)))
