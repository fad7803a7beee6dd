from types import SimpleNamespace

import pytest

from planner import ModelGeometry, read_model_config

HYBRID = {
    "hidden_size": 2560,
    "intermediate_size": 9216,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "num_hidden_layers": 8,
    "layer_types": ["linear_attention"] * 3
    + ["full_attention"]
    + ["linear_attention"] * 3
    + ["full_attention"],
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_value_head_dim": 128,
    "linear_num_value_heads": 32,
}
GEOMETRY = ModelGeometry(2560, 9216, 16, 4, 256, 4, 128, 16, 128, 32)


@pytest.mark.parametrize(
    "config", [HYBRID, SimpleNamespace(**HYBRID), {"model_type": "vision", "text_config": HYBRID}]
)
def test_a_hybrid_model(config):
    assert read_model_config(config) == (GEOMETRY, 8, 6)


def test_layer_kinds_may_be_given_by_an_interval():
    config = {name: value for name, value in HYBRID.items() if name != "layer_types"}
    assert read_model_config(config | {"full_attention_interval": 4})[1:] == (8, 6)


def test_a_dense_attention_model_has_no_gdn_shape():
    config = {
        "hidden_size": 64,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "linear_conv_kernel_dim": 4,
    }
    assert read_model_config(config) == (ModelGeometry(64, 0, 4, 4, 16), 2, 0)


def test_a_mixture_of_experts():
    experts = {"num_experts": 64, "moe_intermediate_size": 512, "num_experts_per_tok": 8}
    geometry, _, _ = read_model_config(HYBRID | experts | {"shared_expert_intermediate_size": 256})
    moe = (
        geometry.moe_experts,
        geometry.moe_ffn_hidden_size,
        geometry.moe_topk,
        geometry.moe_shared_expert_ffn,
    )
    assert moe == (64, 512, 8, 256)


def test_a_missing_field_is_named():
    with pytest.raises(ValueError, match="num_attention_heads"):
        read_model_config({"hidden_size": 64})
