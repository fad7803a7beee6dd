"""Gated DeltaNet layer: short convolution, gates, delta rule down the tree, gated output.

Under context parallelism tokens are exchanged for heads: each rank walks the whole tree for its heads.
"""

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from harness._comm import Groups, exchange, reduce, replicate
from harness._deltaplan import TokenLevels
from harness._shard import ShardPlan
from harness.model._config import ModelConfig
from harness.model._conv import window_conv
from harness.model._delta_rule import Chunks, tree_delta_rule
from harness.model._fla import chunk_kernel, level_delta_rule
from harness.model._lora import LoraLinear
from harness.model._norm import rms_norm
from harness.model._weights import WeightSource, section_index


def _with_zeros(rows: Tensor) -> Tensor:
    """One more row, of zeros: what the plan's last index reads."""
    return functional.pad(rows, (0, 0, 0, 1))


class GatedDeltaNet(nn.Module):
    """[local tokens, hidden] to the same shape, summed over tensor-parallel ranks."""

    def __init__(self, source: WeightSource, name: str, config: ModelConfig, groups: Groups) -> None:
        super().__init__()
        self.config, self.groups = config, groups
        tp, cp = groups.tp, groups.cp
        parts = tp.size * cp.size
        self.key_heads = config.gdn_key_heads // parts
        self.value_heads = config.gdn_value_heads // parts
        keys = config.gdn_key_heads * config.gdn_key_dim
        values = config.gdn_value_heads * config.gdn_value_dim
        adapter = {"rank": config.lora_rank, "alpha": config.lora_alpha}
        column = {"inputs": config.hidden, "split": "column", **adapter}
        # q, k, v, write strength, decay; this rank's rows lie by context-parallel part, ready to exchange.
        sections = [keys, keys, values, config.gdn_value_heads, config.gdn_value_heads]
        mixed = section_index(sections, parts, range(tp.rank * cp.size, (tp.rank + 1) * cp.size))
        mine = section_index([values], tp.size, [tp.rank])
        self.mix = LoraLinear(source, f"{name}.mix", outputs=sum(sections), index=mixed, **column)
        self.gate = LoraLinear(source, f"{name}.gate", outputs=values, index=mine, **column)
        self.out = LoraLinear(
            source, f"{name}.out", inputs=values, outputs=config.hidden, split="row", index=mine, **adapter
        )
        part = tp.rank * cp.size + cp.rank
        channels = section_index(sections[:3], parts, [part]).to(source.device)
        heads = section_index(sections[4:], parts, [part]).to(source.device)
        kernel = config.conv_kernel
        taps = source.normal(f"{name}.taps", (kernel, keys * 2 + values), kernel**-0.5)
        # Decays as trained models have them: half-lives from one token to some thousand.
        rates = source.uniform(f"{name}.rates", (config.gdn_value_heads,), -4.0, 1.0)
        offsets = source.uniform(f"{name}.offsets", (config.gdn_value_heads,), -2.0, 0.0)
        self.register_buffer("taps", taps[:, channels].contiguous())
        self.register_buffer("rates", rates[heads].exp())
        self.register_buffer("offsets", offsets[heads])

    def forward(self, x: Tensor, plan: ShardPlan) -> Tensor:
        """X [local tokens, hidden]."""
        x = replicate(x, self.groups.tp)
        mixed = self._to_heads(self.mix(x))
        mixed = self._to_tokens(self._core(mixed, plan).to(x.dtype))
        shape = (x.shape[0], -1, self.config.gdn_value_dim)
        normed = rms_norm(mixed.reshape(shape), self.config.norm_eps)
        gated = normed * functional.silu(self.gate(x).view(shape))
        return reduce(self.out(gated.view(x.shape[0], -1)), self.groups.tp)

    def _to_heads(self, mixed: Tensor) -> Tensor:
        """[local tokens, heads of all parts] to [gathered tokens, heads of this part]."""
        cp = self.groups.cp
        if cp.size == 1:
            return mixed
        parts = mixed.view(mixed.shape[0], cp.size, -1).transpose(0, 1)
        return exchange(parts, cp).flatten(0, 1)

    def _to_tokens(self, mixed: Tensor) -> Tensor:
        cp = self.groups.cp
        if cp.size == 1:
            return mixed
        parts = exchange(mixed.view(cp.size, -1, mixed.shape[-1]), cp)
        return parts.transpose(0, 1).flatten(1)

    def _core(self, mixed: Tensor, plan: ShardPlan) -> Tensor:
        """Gathered tokens with this part's heads [P, ...] to their outputs [P, heads * value]."""
        assert plan.delta is not None, "a model with Gated-DeltaNet layers has a delta plan"
        delta = plan.delta
        wide = torch.promote_types(mixed.dtype, torch.float32)
        channels = self.taps.shape[1]
        tokens, gates = mixed.split([channels, mixed.shape[1] - channels], 1)
        width = delta.chunk + self.taps.shape[0] - 1
        windows = _with_zeros(tokens).index_select(0, delta.windows).view(-1, width, channels)
        active = functional.silu(window_conv(windows, self.taps)).to(wide)
        if delta.whole is not None:
            return self._by_segments(active.flatten(0, 1), gates.to(wide), delta.whole, mixed.dtype)
        chunks = self._chunks(active, gates.to(wide), delta.gates)
        output = tree_delta_rule(chunks, delta.levels).transpose(1, 2)
        return output.reshape(-1, self.value_heads * self.config.gdn_value_dim).index_select(0, delta.slots)

    def _by_segments(self, active: Tensor, gates: Tensor, whole: TokenLevels, dtype: torch.dtype) -> Tensor:
        """The same as by chunks, through kernels that take whole segments."""
        kernel = chunk_kernel()
        assert kernel is not None, "a plan has whole segments only where there are kernels for them"
        q, k, v = self._heads(active.index_select(0, whole.slots))
        beta, g = self._gates(gates.index_select(0, whole.gathered))
        spread = (self._spread(q), self._spread(k), v)
        output = level_delta_rule(kernel, *(t.to(dtype) for t in spread), g, beta, whole.levels)
        return output.flatten(1).index_select(0, whole.packed)

    def _chunks(self, active: Tensor, gates: Tensor, index: Tensor) -> Chunks:
        """Unit keys and queries, write strengths and decays, per head and chunk."""
        count, size = active.shape[:2]
        q, k, v = (part.transpose(1, 2) for part in self._heads(active))
        beta, g = self._gates(gates)
        # Padding neither writes nor decays.
        both = _with_zeros(torch.cat([g, beta], 1)).index_select(0, index)
        both = both.view(count, size, 2, self.value_heads)
        g, beta = both.permute(2, 0, 3, 1).unbind(0)
        return Chunks(self._spread(q), self._spread(k), v, g, beta)

    def _heads(self, active: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """[..., channels] to unit queries (scaled) and keys [..., key heads, d], values [..., heads, d]."""
        config = self.config
        key_width = self.key_heads * config.gdn_key_dim
        parts = active.split([key_width, key_width, active.shape[-1] - 2 * key_width], -1)
        q, k = (self._unit(part.unflatten(-1, (self.key_heads, -1))) for part in parts[:2])
        return q * config.gdn_key_dim**-0.5, k, parts[2].unflatten(-1, (self.value_heads, -1))

    def _gates(self, gates: Tensor) -> tuple[Tensor, Tensor]:
        """Write strengths and logarithms of decays, each [tokens, value heads]."""
        strength, drift = gates.split(self.value_heads, 1)
        g = -self.rates.to(drift.dtype) * functional.softplus(drift + self.offsets.to(drift.dtype))
        return torch.sigmoid(strength), g

    def _unit(self, heads: Tensor) -> Tensor:
        """Each head vector to length 1."""
        return rms_norm(heads, self.config.norm_eps) * heads.shape[-1] ** -0.5

    def _spread(self, heads: Tensor) -> Tensor:
        """Key heads to value heads in dimension 1: each key head serves its group of value heads."""
        group = self.value_heads // self.key_heads
        return heads if group == 1 else heads.repeat_interleave(group, 1)
