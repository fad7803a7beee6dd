"""The decoder: embedding, pre-norm blocks, head; only adapters train."""

from collections.abc import Iterator
from typing import cast

import torch
from torch import Tensor, nn

from harness._comm import Groups, replicate
from harness._shard import ShardPlan
from harness.model._attention import Attention, rotation
from harness.model._config import LayerKind, ModelConfig
from harness.model._delta import GatedDeltaNet
from harness.model._experts import Experts
from harness.model._grouped import GroupedLora
from harness.model._lora import LoraLinear
from harness.model._loss import next_token_loss
from harness.model._mlp import SwiGlu
from harness.model._norm import rms_norm
from harness.model._weights import WeightSource

Adapter = LoraLinear | GroupedLora


class Block(nn.Module):
    """x + mixer(norm(x)), then x + mlp(norm(x))."""

    def __init__(
        self, source: WeightSource, name: str, kind: LayerKind, config: ModelConfig, groups: Groups
    ) -> None:
        super().__init__()
        self.kind, self.eps = kind, config.norm_eps
        mixer = Attention if kind == "attention" else GatedDeltaNet
        self.mixer = mixer(source, f"{name}.mixer", config, groups)
        self.mlp: nn.Module = (
            Experts(source, f"{name}.mlp", config, groups)
            if config.moe_experts
            else SwiGlu(source, f"{name}.mlp", config, groups, width=config.ffn)
        )

    def forward(self, x: Tensor, plan: ShardPlan, turn: tuple[Tensor, Tensor]) -> Tensor:
        """X [local tokens, hidden]."""
        normed = rms_norm(x, self.eps)
        x = x + (self.mixer(normed, plan, turn) if self.kind == "attention" else self.mixer(normed, plan))
        return x + self.mlp(rms_norm(x, self.eps))


class Decoder(nn.Module):
    """A model on one rank: split weights of the whole model that the seed gives.

    Embedding and head are whole on every rank; under tensor parallelism each computes the logits of its share
    of the tokens.
    """

    def __init__(self, config: ModelConfig, groups: Groups, source: WeightSource) -> None:
        super().__init__()
        self.config, self.groups = config, groups
        self.register_buffer("embedding", source.normal("embedding", (config.vocab, config.hidden), 1.0))
        self.register_buffer(
            "head", source.normal("head", (config.vocab, config.hidden), config.hidden**-0.5)
        )
        self.blocks = nn.ModuleList(
            Block(source, f"layers.{layer}", kind, config, groups) for layer, kind in enumerate(config.kinds)
        )

    def adapters(self) -> Iterator[tuple[str, Adapter]]:
        """Every adapted projection by name, in an order that is the same on all ranks."""
        for name, module in self.named_modules():
            if isinstance(module, (LoraLinear, GroupedLora)):
                yield name, module

    def hidden(self, plan: ShardPlan) -> Tensor:
        """Final normalized states of the local tokens, [local, hidden]."""
        x = self.embedding.index_select(0, plan.tokens)
        cos, sin = rotation(plan.positions, self.config)
        turn = (cos.to(x.dtype), sin.to(x.dtype))
        for block in self.blocks:
            x = block(x, plan, turn)
        return rms_norm(x, self.config.norm_eps)

    def forward(self, plan: ShardPlan) -> Tensor:
        """Share of this rank in the mean next-token loss; its sum over ranks is the same on every layout."""
        return next_token_loss(replicate(self.hidden(plan), self.groups.tp), self.head, plan.targets)


def build_model(
    config: ModelConfig, groups: Groups, seed: int, device: torch.device | str = "cpu"
) -> Decoder:
    """The model of a seed on this rank; the same whole model for every parallel shape.

    Raises:
        InvalidInputError: the shape would split a head or an expert.
    """
    config.require_parallel(tp=groups.tp.size, cp=groups.cp.size, ep=groups.ep.size, etp=groups.etp.size)
    source = WeightSource(seed, torch.device(device), cast(torch.dtype, getattr(torch, config.dtype)))
    return Decoder(config, groups, source)
