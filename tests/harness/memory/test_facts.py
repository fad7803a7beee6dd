from dataclasses import replace

import pytest
import torch
from torch import nn

from harness._comm import Axis, single_process
from harness.memory import expert_facts, memory_signature, model_floor
from harness.model._experts import Experts
from planner.memory import (
    expert_bytes_per_token,
    fc2_floor_bytes,
    observed_path_bytes,
    observed_path_doubts,
)


@pytest.fixture
def model(make_model):
    return make_model()


def layer_of(model):
    return next(module for module in model.modules() if isinstance(module, Experts))


def test_the_harness_layer_is_on_the_observed_path(model):
    facts = expert_facts(layer_of(model))
    assert observed_path_doubts(facts) == ()
    assert (facts.experts_per_token, facts.hidden, facts.expert_hidden, facts.value_bytes) == (2, 128, 96, 4)
    assert expert_bytes_per_token(facts) == 2 * (3 * 96 + 5 * 128) * 4


def test_every_width_of_the_facts_is_that_of_the_weights(make_model):
    facts = expert_facts(layer_of(make_model(moe_ffn=64, moe_topk=3, dtype="bfloat16")))
    assert (facts.experts_per_token, facts.expert_hidden, facts.fused_width) == (3, 64, 128)
    assert facts.value_bytes == 2


def doubt(layer):
    (found,) = observed_path_doubts(expert_facts(layer))
    assert expert_bytes_per_token(expert_facts(layer)) == fc2_floor_bytes(expert_facts(layer))
    return found


@pytest.mark.parametrize(
    "register",
    [
        lambda layer, hook: layer.register_forward_hook(hook),
        lambda layer, hook: layer.experts.fc2.register_forward_pre_hook(hook),
        lambda layer, hook: layer.experts.register_full_backward_hook(hook),
        lambda layer, hook: layer.shared.down.register_full_backward_pre_hook(hook),
        lambda _, hook: nn.modules.module.register_module_forward_hook(hook),
    ],
)
def test_a_hook_anywhere_keeps_the_smaller_floor(model, register):
    layer = layer_of(model)
    handle = register(layer, lambda *_: None)
    try:
        assert doubt(layer) == "hooks is True, not False"
    finally:
        handle.remove()
    assert not observed_path_doubts(expert_facts(layer))


def test_a_module_of_another_kind_keeps_the_smaller_floor(model):
    layer = layer_of(model)

    class Mine(type(layer.experts.fc2)):
        pass

    layer.experts.fc2.__class__ = Mine
    assert "Mine" in doubt(layer)


def test_offloaded_activations_keep_the_smaller_floor(model):
    with torch.autograd.graph.save_on_cpu():
        assert doubt(layer_of(model)) == "offload is True, not False"


@pytest.mark.parametrize(
    ("axis", "fact"), [("ep", "expert_parallel"), ("tp", "tensor_parallel"), ("etp", "tensor_parallel")]
)
def test_split_experts_keep_the_smaller_floor(model, axis, fact):
    layer = layer_of(model)
    groups = layer.groups
    layer.groups = replace(groups, **{axis: Axis(axis, 2, 0, None, groups.last)})
    assert fact in doubt(layer)


def test_one_local_expert_keeps_the_smaller_floor(make_model):
    assert "local_experts is 1" in doubt(layer_of(make_model(moe_experts=1, moe_topk=1)))


def test_the_floor_of_a_model_is_its_largest_layer(make_model, model):
    facts = expert_facts(layer_of(model))
    assert model_floor(model).bytes_per_token() == observed_path_bytes(facts)
    dense = model_floor(make_model("attention-tiny"))
    assert dense.bytes_per_token() == (256 + 128) * 4
    assert model_floor(make_model("attention-tiny", layers=4)).bytes_per_token() == dense.bytes_per_token()


def test_ranks_that_share_tokens_share_the_floor(make_model):
    model = make_model()
    last = model.groups.last
    model.groups = replace(single_process(), tp=Axis("tp", 2, 0, None, last), cp=Axis("cp", 4, 0, None, last))
    for module in model.modules():
        if isinstance(module, Experts):
            module.groups = model.groups
    floor = model_floor(model)
    assert floor.token_ranks == 4
    assert floor.bytes_per_token() == max(2 * (96 + 3 * 128) * 4 // 2, (64 + 128) * 4)


def test_a_signature_tells_models_topologies_and_modes_apart(make_model, model):
    def signature(of=model, grad=True, outputs="loss"):
        return memory_signature(of, "cpu", grad=grad, outputs=outputs)

    assert signature() == signature(make_model())
    others = [
        signature(make_model(layers=1)),
        signature(make_model(moe_topk=3)),
        signature(grad=False),
        signature(outputs="logits"),
    ]
    assert len({signature(), *others}) == 5
