"""What memory admission asks of a model: its floor, the facts of its expert layers, its signature."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as nn_module

from harness.model._decoder import Decoder
from harness.model._experts import ExpertProjections, Experts
from harness.model._grouped import GroupedLora
from harness.model._lora import LoraLinear
from harness.model._mlp import SwiGlu
from planner.memory import ExpertFacts, ModelFloor, Signature, fc2_floor_bytes
from schemas import digest_json

_KINDS: Mapping[type[nn.Module], str] = {
    Experts: "routed_experts",
    ExpertProjections: "expert_projections",
    GroupedLora: "grouped_lora",
    SwiGlu: "swiglu",
    LoraLinear: "lora_linear",
}
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_GLOBAL_HOOKS = tuple(f"_global{name}" for name in _HOOKS)


def expert_facts(layer: Experts) -> ExpertFacts:
    """The facts of a routed-expert layer as it stands: read from its weights, groups, modules and hooks."""
    fc1, fc2, groups = layer.experts.fc1, layer.experts.fc2, layer.groups
    modules = list(layer.modules())
    return ExpertFacts(
        experts_per_token=layer.config.moe_topk,
        hidden=fc2.weight.shape[1],
        expert_hidden=fc2.weight.shape[2],
        value_bytes=fc2.weight.element_size(),
        fused_width=fc1.weight.shape[1],
        expert_parallel=groups.ep.size,
        tensor_parallel=max(groups.tp.size, groups.etp.size),
        local_experts=len(fc1.chosen),
        # One gather makes all copies of the tokens (`harness.model._dispatch.take_rows`).
        permute_fusion=True,
        offload=_saved_tensors_are_moved(),
        # The decoder runs every block once; nothing of it is under a checkpoint.
        activation_recompute=False,
        modules=frozenset(_kind(module) for module in modules),
        hooks=_has_hooks(modules),
    )


def model_floor(model: Decoder, *, output_bytes: int = 0) -> ModelFloor:
    """What the model's shape says of a forward on this rank, per packed token of the batch."""
    groups = model.groups
    parts = groups.tp.size // groups.etp.size
    experts = [expert_facts(module) for module in model.modules() if isinstance(module, Experts)]
    return ModelFloor(
        experts=tuple(experts) if parts == 1 else (),
        # Where tensor ranks share the tokens, each holds its part of them.
        other_layers=(*_dense(model), *(fc2_floor_bytes(facts) // parts for facts in experts)),
        output_bytes=output_bytes,
        token_ranks=groups.cp.size,
    )


def memory_signature(model: Decoder, device_class: str, *, grad: bool, outputs: str) -> Signature:
    """What an observation of this model holds for.

    Args:
        model: on this rank.
        device_class: kind of device, as `cpu` or `sm_90`.
        grad: whether a backward follows.
        outputs: what is handed back: `loss`, `logits`.
    """
    groups = model.groups
    shape = f"tp{groups.tp.size}cp{groups.cp.size}ep{groups.ep.size}etp{groups.etp.size}"
    return Signature(digest_json(asdict(model.config)), f"{shape} {device_class}", grad, outputs)


def _dense(model: Decoder) -> Iterator[int]:
    """At its second projection a feed-forward layer holds its activation and the output, at the least."""
    for module in model.modules():
        if isinstance(module, SwiGlu):
            hidden, width = module.down.weight.shape
            yield (hidden + width) * module.down.weight.element_size()


def _kind(module: nn.Module) -> str:
    # The exact class: a subclass may do anything.
    return _KINDS.get(type(module), f"{type(module).__module__}.{type(module).__qualname__}")


def _has_hooks(modules: list[nn.Module]) -> bool:
    here = any(getattr(module, name, None) for module in modules for name in _HOOKS)
    return here or any(getattr(nn_module, name, None) for name in _GLOBAL_HOOKS)


def _saved_tensors_are_moved() -> bool | None:
    """Whether a hook packs what the backward needs, as offloading does; None where torch cannot tell."""
    top: Any = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)
    return None if top is None else top(True) is not None
