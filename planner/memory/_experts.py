"""Bytes per packed token that a routed-expert layer holds at its second projection (design, section 9).

At that stage (FC2) a token's K copies have, at the least, their activation of width I, the projection's
output, the adapter's output and the sum of the two, each of width H. On one observed path four more things
are still alive: the fused gate/up projection of width 2I and two buffers of width H, the permuted tokens and
the expert-sorted copy of them. Only when every fact of that path is known to hold are they charged.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

KNOWN_MODULES: Final = frozenset(
    {"routed_experts", "expert_projections", "grouped_lora", "swiglu", "lora_linear"}
)
"""Kinds of modules on the observed path: the routed layer with its projections, and a shared expert's."""


@dataclass(frozen=True, slots=True)
class ExpertFacts:
    """What is known of a routed-expert layer on this rank; None for a fact that is not known.

    Args:
        experts_per_token: K, experts that each token is sent to.
        hidden: H, width of the residual stream.
        expert_hidden: I, width inside one expert on this rank.
        value_bytes: bytes of an activation value.
        fused_width: width of the fused gate/up projection; 0 where gate and up are two projections.
        expert_parallel: expert-parallel ranks.
        tensor_parallel: tensor-parallel ranks, those inside an expert included.
        local_experts: experts on this rank.
        permute_fusion: whether one kernel permutes the tokens.
        offload: whether activations are moved off the device.
        activation_recompute: whether the layer's forward runs again in the backward.
        modules: kinds of the modules that it is made of.
        hooks: whether any of them has a hook, which may hold or replace a tensor.

    Raises:
        ValueError: a width, count or size below 1.
    """

    experts_per_token: int
    hidden: int
    expert_hidden: int
    value_bytes: int
    fused_width: int | None = None
    expert_parallel: int | None = None
    tensor_parallel: int | None = None
    local_experts: int | None = None
    permute_fusion: bool | None = None
    offload: bool | None = None
    activation_recompute: bool | None = None
    modules: frozenset[str] | None = None
    hooks: bool | None = None

    def __post_init__(self) -> None:
        for name in ("experts_per_token", "hidden", "expert_hidden", "value_bytes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


def fc2_floor_bytes(facts: ExpertFacts) -> int:
    """`K (I + 3H) b`: what any path holds at FC2, per packed token."""
    return facts.experts_per_token * (facts.expert_hidden + 3 * facts.hidden) * facts.value_bytes


def observed_path_bytes(facts: ExpertFacts) -> int:
    """`K (3I + 5H) b`: the seven buffers of the observed path at FC2, per packed token."""
    return facts.experts_per_token * (3 * facts.expert_hidden + 5 * facts.hidden) * facts.value_bytes


def observed_path_buffers(facts: ExpertFacts) -> dict[str, int]:
    """The seven buffers of the observed path by name, in bytes per packed token."""
    wide = facts.experts_per_token * facts.hidden * facts.value_bytes
    inner = facts.experts_per_token * facts.expert_hidden * facts.value_bytes
    return {
        "permuted": wide,
        "dispatched": wide,
        "gate_up": 2 * inner,
        "activation": inner,
        "fc2_base": wide,
        "fc2_adapter": wide,
        "fc2_sum": wide,
    }


def observed_path_doubts(facts: ExpertFacts) -> tuple[str, ...]:
    """Why the layer may not be on the observed path; empty only where every fact of it is known to hold."""
    return tuple(_doubts(facts))


def expert_bytes_per_token(facts: ExpertFacts) -> int:
    """The working set per packed token: the seven buffers on the observed path, else the smaller floor."""
    return fc2_floor_bytes(facts) if observed_path_doubts(facts) else observed_path_bytes(facts)


def largest_layer_bytes(layers: Iterable[int]) -> int:
    """Layers run one after another and give their working sets back, so the largest counts and no sum."""
    return max(layers, default=0)


def _doubts(facts: ExpertFacts) -> Iterator[str]:
    fused = 2 * facts.expert_hidden
    if facts.fused_width != fused:
        yield f"fused_width is {facts.fused_width}, not {fused}"
    for name in ("expert_parallel", "tensor_parallel"):
        if getattr(facts, name) != 1:
            yield f"{name} is {getattr(facts, name)}, not 1"
    if facts.local_experts is None or facts.local_experts < 2:
        yield f"local_experts is {facts.local_experts}, not several"
    if facts.permute_fusion is not True:
        yield f"permute_fusion is {facts.permute_fusion}, not True"
    for name in ("offload", "activation_recompute", "hooks"):
        if getattr(facts, name) is not False:
            yield f"{name} is {getattr(facts, name)}, not False"
    if facts.modules is None or not facts.modules:
        yield "modules are not known"
    elif unknown := facts.modules - KNOWN_MODULES:
        yield f"modules of unknown kinds: {', '.join(sorted(unknown))}"
