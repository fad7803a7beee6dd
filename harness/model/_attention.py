"""Grouped-query attention over a packed tree: a token sees its own segment causally and all above it."""

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from harness._comm import Groups, gather, reduce, replicate
from harness._shard import ShardPlan
from harness.model._config import ModelConfig
from harness.model._flex import tree_attention
from harness.model._lora import LoraLinear
from harness.model._weights import WeightSource, section_index

Rotation = tuple[Tensor, Tensor]


def rotation(positions: Tensor, config: ModelConfig) -> Rotation:
    """Cosines and sines [tokens, 1, head_dim / 2] of rotary positions (Su et al. 2021) within the row."""
    half = config.head_dim // 2
    steps = torch.arange(half, device=positions.device, dtype=torch.float64) / half
    angles = positions.to(torch.float64).unsqueeze(-1) * config.rope_base**-steps
    return angles.cos().unsqueeze(1), angles.sin().unsqueeze(1)


def rotate(heads: Tensor, turn: Rotation) -> Tensor:
    """Turn each head's pairs by its token's position: [tokens, heads, head_dim]."""
    cos, sin = turn
    first, second = heads.chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


class Attention(nn.Module):
    """[local tokens, hidden] to the same shape, summed over tensor-parallel ranks."""

    def __init__(self, source: WeightSource, name: str, config: ModelConfig, groups: Groups) -> None:
        super().__init__()
        self.config, self.groups = config, groups
        tp = groups.tp
        self.heads, self.kv_heads = config.heads // tp.size, config.kv_heads // tp.size
        width, kv_width = config.heads * config.head_dim, config.kv_heads * config.head_dim
        sections = [width, kv_width, kv_width]
        adapter = {"rank": config.lora_rank, "alpha": config.lora_alpha}
        self.qkv = LoraLinear(
            source,
            f"{name}.qkv",
            inputs=config.hidden,
            outputs=sum(sections),
            split="column",
            index=section_index(sections, tp.size, [tp.rank]),
            **adapter,
        )
        self.out = LoraLinear(
            source,
            f"{name}.out",
            inputs=width,
            outputs=config.hidden,
            split="row",
            index=section_index([width], tp.size, [tp.rank]),
            **adapter,
        )

    def forward(self, x: Tensor, plan: ShardPlan, turn: Rotation) -> Tensor:
        """X [local tokens, hidden]; `turn` as from `rotation`, in the model's dtype."""
        tp, cp = self.groups.tp, self.groups.cp
        heads = self.qkv(replicate(x, tp)).view(x.shape[0], -1, self.config.head_dim)
        turned, value = heads.split([self.heads + self.kv_heads, self.kv_heads], 1)
        query, key = rotate(turned, turn).split([self.heads, self.kv_heads], 1)
        both = gather(torch.cat([key, value], 1), cp)
        if plan.sight is not None:
            seen = tree_attention(query, *both.split(self.kv_heads, 1), plan.sight)
        else:
            whole = both if plan.restore is None else both.index_select(0, plan.restore)
            seen = self._blocks(query, whole, plan)
        return reduce(self.out(seen.reshape(x.shape[0], -1)), tp)

    def _blocks(self, query: Tensor, both: Tensor, plan: ShardPlan) -> Tensor:
        """Each block against all keys above it; split, as each slice would have a full-size gradient."""
        queries = query.split(plan.query_sizes)
        keys = both.split(plan.key_sizes)
        outputs: list[Tensor] = []
        for rows, block in zip(queries, plan.blocks, strict=True):
            above = keys[block.keys[0]] if len(block.keys) == 1 else torch.cat([keys[i] for i in block.keys])
            key, value = above.transpose(0, 1).unsqueeze(0).split(self.kv_heads, 1)
            output = functional.scaled_dot_product_attention(
                rows.transpose(0, 1).unsqueeze(0),
                key,
                value,
                attn_mask=block.mask,
                is_causal=block.causal,
                enable_gqa=self.heads != self.kv_heads,
            )
            outputs.append(output.squeeze(0).transpose(0, 1))
        return torch.cat(outputs)
