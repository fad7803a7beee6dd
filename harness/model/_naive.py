"""The same model row by row, token by token: no packing, no chunks, no sharing, nothing clever.

What the packed path is tested against. It reads the weights of an unsplit `Decoder` and shares no code with
its layers but the dense projections.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as functional
from torch import Tensor

from harness.model._attention import Attention
from harness.model._decoder import Decoder
from harness.model._delta import GatedDeltaNet
from harness.model._experts import ExpertProjections, Experts
from harness.model._grouped import GroupedLora
from harness.model._mlp import SwiGlu


def naive_row_logits(model: Decoder, row: Tensor) -> Tensor:
    """Logits [length, vocabulary] of one row of token ids [length]."""
    x = model.embedding[row]
    for block in model.blocks:
        normed = _rms(x, block.eps)
        if isinstance(block.mixer, Attention):
            x = x + _attention(block.mixer, normed)
        else:
            x = x + _gated_delta(block.mixer, normed)
        normed = _rms(x, block.eps)
        x = x + (
            naive_experts(block.mlp, normed) if isinstance(block.mlp, Experts) else _mlp(block.mlp, normed)
        )
    return _rms(x, model.config.norm_eps) @ model.head.t()


def naive_loss(model: Decoder, rows: Sequence[Tensor]) -> Tensor:
    """Mean next-token loss over all rows."""
    losses = [
        functional.cross_entropy(naive_row_logits(model, row)[:-1], row[1:], reduction="sum") for row in rows
    ]
    return torch.stack(losses).sum() / max(1, sum(len(row) - 1 for row in rows))


def _rms(x: Tensor, eps: float) -> Tensor:
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps)


def _mlp(layer: SwiGlu, x: Tensor) -> Tensor:
    gate, value = layer.up(x).chunk(2, -1)
    return layer.down(functional.silu(gate) * value)


def naive_experts(layer: Experts, x: Tensor) -> Tensor:
    """Outputs [tokens, hidden], token by token; the best are found one by one, the first of equals."""
    outputs = []
    for token in x:
        probability = (layer.router @ token).softmax(-1)
        left, chosen = probability.detach().clone(), []
        for _ in range(layer.config.moe_topk):
            chosen.append(int(left.argmax()))
            left[chosen[-1]] = -1
        total = sum(probability[expert] for expert in chosen)
        outputs.append(sum(probability[e] / total * _expert(layer.experts, e, token) for e in chosen))
    routed = torch.stack(outputs)
    return routed if layer.shared is None else routed + _mlp(layer.shared, x)


def _expert(layer: ExpertProjections, expert: int, token: Tensor) -> Tensor:
    gate, value = _project(layer.fc1, expert, token).chunk(2)
    return _project(layer.fc2, expert, functional.silu(gate) * value)


def _project(layer: GroupedLora, expert: int, x: Tensor) -> Tensor:
    adapted = layer.lora_b[expert] @ (layer.lora_a[expert] @ x)
    return layer.weight[expert] @ x + layer.scale * adapted


def _attention(layer: Attention, x: Tensor) -> Tensor:
    config, length = layer.config, x.shape[0]
    heads, kv_heads, width = config.heads, config.kv_heads, config.head_dim
    q, k, v = layer.qkv(x).split([heads * width, kv_heads * width, kv_heads * width], -1)
    q = _turn(q.view(length, heads, width), config.rope_base)
    k = _turn(k.view(length, kv_heads, width), config.rope_base)
    v = v.view(length, kv_heads, width)
    outputs = []
    for head in range(heads):
        shared = head // (heads // kv_heads)
        scores = q[:, head] @ k[:, shared].t() / width**0.5
        scores = scores + torch.full((length, length), -torch.inf, dtype=x.dtype).triu(1)
        outputs.append(scores.softmax(-1) @ v[:, shared])
    return layer.out(torch.cat(outputs, -1))


def _turn(heads: Tensor, base: float) -> Tensor:
    """Rotary positions as complex multiplication."""
    half = heads.shape[-1] // 2
    steps = base ** -(torch.arange(half, dtype=torch.float64) / half)
    angles = torch.arange(heads.shape[0], dtype=torch.float64)[:, None] * steps
    turn = torch.polar(torch.ones_like(angles), angles)[:, None]
    turned = torch.complex(heads[..., :half].double(), heads[..., half:].double()) * turn
    return torch.cat([turned.real, turned.imag], -1).to(heads.dtype)


def _gated_delta(layer: GatedDeltaNet, x: Tensor) -> Tensor:
    config, length = layer.config, x.shape[0]
    keys, values = config.gdn_key_heads * config.gdn_key_dim, config.gdn_value_heads * config.gdn_value_dim
    channels, strength, drift = layer.mix(x).split(
        [2 * keys + values, config.gdn_value_heads, config.gdn_value_heads], -1
    )
    channels = functional.silu(_convolve(channels, layer.taps))
    q, k, v = channels.split([keys, keys, values], -1)
    q = _unit(q.view(length, config.gdn_key_heads, -1), config.norm_eps) * config.gdn_key_dim**-0.5
    k = _unit(k.view(length, config.gdn_key_heads, -1), config.norm_eps)
    v = v.view(length, config.gdn_value_heads, -1)
    beta = torch.sigmoid(strength)
    decay = torch.exp(-layer.rates * functional.softplus(drift + layer.offsets))
    group = config.gdn_value_heads // config.gdn_key_heads
    outputs = [
        delta_recurrence(q[:, h // group], k[:, h // group], v[:, h], decay[:, h], beta[:, h])
        for h in range(config.gdn_value_heads)
    ]
    normed = _rms(torch.stack(outputs, 1), config.norm_eps)
    gated = normed * functional.silu(layer.gate(x).view(length, config.gdn_value_heads, -1))
    return layer.out(gated.reshape(length, -1))


def delta_recurrence(q: Tensor, k: Tensor, v: Tensor, decay: Tensor, beta: Tensor) -> Tensor:
    """One head, token by token: q, k [n, key], v [n, value], decay and beta [n]; outputs [n, value]."""
    state = torch.zeros(k.shape[-1], v.shape[-1], dtype=v.dtype)
    outputs = []
    for t in range(len(q)):
        state = decay[t] * state
        state = state + torch.outer(k[t], beta[t] * (v[t] - k[t] @ state))
        outputs.append(q[t] @ state)
    return torch.stack(outputs)


def _convolve(channels: Tensor, taps: Tensor) -> Tensor:
    kernel = len(taps)
    padded = torch.cat([torch.zeros(kernel - 1, channels.shape[1], dtype=channels.dtype), channels])
    return torch.stack([sum(taps[j] * padded[t + j] for j in range(kernel)) for t in range(len(channels))])


def _unit(heads: Tensor, eps: float) -> Tensor:
    """Length 1, with the same guard against zero vectors as root-mean-square normalization."""
    return _rms(heads, eps) / heads.shape[-1] ** 0.5
