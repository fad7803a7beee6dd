import pytest
import torch

from planner.memory import (
    ExpertFacts,
    ModelFloor,
    expert_bytes_per_token,
    fc2_floor_bytes,
    observed_path_buffers,
    observed_path_bytes,
    observed_path_doubts,
)

ROWS = 45_981


def test_the_observed_path_of_the_known_case(exact_experts):
    assert not observed_path_doubts(exact_experts)
    assert ROWS * expert_bytes_per_token(exact_experts) == 8_663_556_096
    assert ROWS * (expert_bytes_per_token(exact_experts) - fc2_floor_bytes(exact_experts)) == 3_766_763_520


def test_both_formulas_are_the_storages_of_real_tensors(exact_experts):
    """The buffers themselves, made on the device without memory, of as many rows as the known case."""

    def empty(width):
        return torch.empty(ROWS * 8, width, dtype=torch.bfloat16, device="meta")

    permuted, dispatched = empty(2048), empty(2048)
    gate_up, base, adapter = empty(1024), empty(2048), empty(2048)
    gate, up = gate_up.chunk(2, -1)
    activation = torch.nn.functional.silu(gate) * up
    total = torch.add(base, adapter, alpha=2.0)
    named = {
        "permuted": permuted,
        "dispatched": dispatched,
        "gate_up": gate_up,
        "activation": activation,
        "fc2_base": base,
        "fc2_adapter": adapter,
        "fc2_sum": total,
    }
    sizes = {name: tensor.untyped_storage().nbytes() for name, tensor in named.items()}
    assert sizes == {name: ROWS * size for name, size in observed_path_buffers(exact_experts).items()}
    assert sum(sizes.values()) == ROWS * observed_path_bytes(exact_experts) == 8_663_556_096
    small = sizes["activation"] + sizes["fc2_base"] + sizes["fc2_adapter"] + sizes["fc2_sum"]
    assert small == ROWS * fc2_floor_bytes(exact_experts) == 8_663_556_096 - 3_766_763_520


OTHERS = {
    "fused_width": [None, 0, 512, 1023, 2048],
    "expert_parallel": [None, 2, 8],
    "tensor_parallel": [None, 2],
    "local_experts": [None, 0, 1],
    "permute_fusion": [None, False],
    "offload": [None, True],
    "activation_recompute": [None, True],
    "modules": [None, frozenset(), frozenset({"grouped_lora", "somebody_elses_layer"})],
    "hooks": [None, True],
}


@pytest.mark.parametrize(
    ("fact", "value"), [(fact, value) for fact, values in OTHERS.items() for value in values]
)
def test_any_other_unknown_or_missing_fact_keeps_the_smaller_floor(exact_path, fact, value):
    facts = ExpertFacts(**{**exact_path, fact: value})
    assert len(observed_path_doubts(facts)) == 1
    assert fact in observed_path_doubts(facts)[0] or fact == "modules"
    assert expert_bytes_per_token(facts) == 8 * (512 + 3 * 2048) * 2


def test_every_guard_has_its_negative_test(exact_path):
    assert set(OTHERS) == set(exact_path) - {"experts_per_token", "hidden", "expert_hidden", "value_bytes"}


def test_facts_that_were_never_given_keep_the_smaller_floor():
    bare = ExpertFacts(8, 2048, 512, 2)
    assert len(observed_path_doubts(bare)) == len(OTHERS)
    assert expert_bytes_per_token(bare) == fc2_floor_bytes(bare)


def test_a_truthy_stand_in_is_no_proof(exact_path):
    assert observed_path_doubts(ExpertFacts(**{**exact_path, "permute_fusion": 1}))
    assert observed_path_doubts(ExpertFacts(**{**exact_path, "offload": 0}))


def test_layers_combine_by_maximum(exact_experts):
    one = ModelFloor(experts=(exact_experts,))
    many = ModelFloor(experts=(exact_experts,) * 48, other_layers=(100, 7))
    assert many.bytes_per_token() == one.bytes_per_token() == observed_path_bytes(exact_experts)
    assert ModelFloor(other_layers=(100, 7)).bytes_per_token() == 100
    assert ModelFloor().bytes_per_token() == 0


@pytest.mark.parametrize("name", ["experts_per_token", "hidden", "expert_hidden", "value_bytes"])
def test_a_width_of_nothing_is_refused(exact_path, name):
    with pytest.raises(ValueError, match=name):
        ExpertFacts(**{**exact_path, name: 0})
