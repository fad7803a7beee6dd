"""The gated delta rule in chunks, over the levels of a packed tree (Yang et al. 2024, arXiv 2412.06464).

Per head the state S [key, value] follows S_t = D + k_t (beta_t (v_t - D^T k_t))^T with D = exp(g_t) S_{t-1},
and the output is S_t^T q_t. Inside a chunk this is solved at once; only states at chunk ends go step by step.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from harness._deltaplan import DeltaLevel


@dataclass(frozen=True, slots=True)
class Chunks:
    """N chunks of C tokens with H heads: q, k [N, H, C, key], v [N, H, C, value], g and beta [N, H, C].

    q is scaled already; g is the logarithm of the decay (at most 0); padding has g = beta = 0.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    g: Tensor
    beta: Tensor

    def split(self, sizes: list[int]) -> list["Chunks"]:
        """Consecutive runs of chunks."""
        parts = [tensor.split(sizes) for tensor in (self.q, self.k, self.v, self.g, self.beta)]
        return [Chunks(*group) for group in zip(*parts, strict=True)]


def tree_delta_rule(chunks: Chunks, levels: tuple[DeltaLevel, ...]) -> Tensor:
    """Outputs [N, H, C, value]; the end state of a segment is where its children begin."""
    outputs: list[Tensor] = []
    handed: Tensor | None = None
    for part, level in zip(chunks.split([level.chunks for level in levels]), levels, strict=True):
        if level.parents is None or handed is None:
            _, heads, _, key = part.k.shape
            state = part.v.new_zeros(level.segments, heads, key, part.v.shape[-1])
        else:
            state = handed.index_select(0, level.parents)
        output, handed = _level(part, level, state)
        outputs.append(output)
    return torch.cat(outputs) if len(outputs) > 1 else outputs[0]


def _level(chunks: Chunks, level: DeltaLevel, state: Tensor) -> tuple[Tensor, Tensor | None]:
    """One level: chunk-local algebra for all its chunks, then the scan, then all outputs at once."""
    total = chunks.g.cumsum(-1)
    decay = _decay(total)
    grown = total.exp().unsqueeze(-1)
    weighted = chunks.k * chunks.beta.unsqueeze(-1)
    lower = (weighted @ chunks.k.mT * decay).tril(-1)
    right = torch.cat([chunks.v * chunks.beta.unsqueeze(-1), weighted * grown], -1)
    solved = torch.linalg.solve_triangular(lower, right, upper=False, unitriangular=True)
    own, seen = solved.split([chunks.v.shape[-1], chunks.k.shape[-1]], -1)
    faded = chunks.k * (total[..., -1:] - total).exp().unsqueeze(-1)
    states, values, handed = _scan(level, state, own, seen, faded, grown[..., -1:, :])
    output = (chunks.q * grown) @ states + (chunks.q @ chunks.k.mT * decay) @ values
    return output, handed


def _decay(total: Tensor) -> Tensor:
    """[..., C] sums of g to [..., C, C]: the decay from token j to token i, 0 above the diagonal."""
    size = total.shape[-1]
    future = torch.ones(size, size, dtype=torch.bool, device=total.device).triu(1)
    # Masked before the exponential: what lies ahead would overflow.
    return (total.unsqueeze(-1) - total.unsqueeze(-2)).masked_fill(future, -torch.inf).exp()


def _scan(
    level: DeltaLevel, state: Tensor, own: Tensor, seen: Tensor, faded: Tensor, last: Tensor
) -> tuple[Tensor, Tensor, Tensor | None]:
    """States at every chunk's start, values written in it, and the states that are handed to children."""
    sizes = [step.active for step in level.steps]
    parts = zip(level.steps, *(t.split(sizes) for t in (own, seen, faded, last)), strict=True)
    states: list[Tensor] = []
    values: list[Tensor] = []
    handed: list[Tensor] = []
    for step, own_i, seen_i, faded_i, last_i in parts:
        value = own_i - seen_i @ state
        states.append(state)
        values.append(value)
        if step.updated == 0:
            break
        n = step.updated
        state = state[:n] * last_i[:n] + faded_i[:n].mT @ value[:n]
        if step.continuing < n:
            state, ended = state.split([step.continuing, n - step.continuing])
            handed.append(ended)
    return torch.cat(states), torch.cat(values), torch.cat(handed) if handed else None
