"""Configurations that make no model, or cannot be split, are refused by field name."""

import json
from dataclasses import replace

import pytest

from harness.model import PRESETS, ModelConfig, preset
from schemas import InvalidInputError, NotFoundError

TINY = preset("hybrid-tiny")
MOE = preset("moe-tiny")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden": 0}, "hidden is 0"),
        ({"kv_heads": 3}, "heads .4. must be a multiple of kv_heads"),
        ({"head_dim": 31}, "even width"),
        ({"attention_interval": 0}, "attention_interval is 0"),
        ({"gdn_key_heads": 0}, "needs every gdn_"),
        ({"gdn_key_heads": 3}, "multiple of gdn_key_heads"),
        ({"attention_interval": 1}, "set them to 0"),
        ({"dtype": "float16"}, "choose one of"),
        ({"ffn": 0}, "ffn is 0"),
        ({"moe_topk": 2}, "moe_experts is 0"),
    ],
)
def test_a_configuration_that_makes_no_model_is_refused(changes, message):
    with pytest.raises(InvalidInputError, match=message):
        replace(TINY, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ffn": 64}, "ffn is 64, but every feed-forward part is experts"),
        ({"moe_topk": 0}, "needs moe_topk and moe_ffn at least 1"),
        ({"moe_shared_ffn": -1}, "moe_shared_ffn at least 0"),
        ({"moe_topk": 9}, r"moe_topk \(9\) must not exceed moe_experts \(8\)"),
    ],
)
def test_a_configuration_of_experts_that_makes_no_model_is_refused(changes, message):
    with pytest.raises(InvalidInputError, match=message):
        replace(MOE, **changes)


@pytest.mark.parametrize(
    ("changes", "shape", "message"),
    [
        ({}, {"tp": 2, "cp": 1, "ep": 4}, r"ep must divide tp\*cp/etp"),
        ({}, {"tp": 1, "cp": 2, "etp": 2}, "etp must divide tp"),
        ({}, {"tp": 2, "cp": 1, "ep": 2, "etp": 2}, r"ep must divide tp\*cp/etp"),
        ({"moe_experts": 9}, {"tp": 1, "cp": 2, "ep": 2}, "moe_experts=9 is not a multiple of ep=2"),
        ({"moe_ffn": 97}, {"tp": 2, "cp": 1, "etp": 2}, "moe_ffn=97 is not a multiple of etp=2"),
        ({"moe_shared_ffn": 3}, {"tp": 2, "cp": 1}, "moe_shared_ffn=3 is not a multiple of tp=2"),
        ({}, {"tp": 1, "cp": 1, "ep": 0}, "at least 1"),
    ],
)
def test_a_shape_that_experts_cannot_be_spread_over_is_refused(changes, shape, message):
    config = replace(MOE, **changes)
    for fitting in ({"tp": 2, "cp": 2, "ep": 4}, {"tp": 2, "cp": 2, "ep": 2, "etp": 2}):
        MOE.require_parallel(**fitting)
    with pytest.raises(InvalidInputError, match=message):
        config.require_parallel(**shape)


def test_a_model_without_experts_refuses_expert_axes():
    with pytest.raises(InvalidInputError, match="no experts to split"):
        TINY.require_parallel(tp=2, cp=1, ep=2)


def test_geometry_tells_experts():
    found = MOE.geometry()
    assert {name: found[name] for name in found if name.startswith("moe_") or name == "ffn_hidden_size"} == {
        "ffn_hidden_size": 0,
        "moe_experts": 8,
        "moe_ffn_hidden_size": 96,
        "moe_shared_expert_ffn": 64,
        "moe_topk": 2,
    }


@pytest.mark.parametrize(
    ("changes", "shape", "message"),
    [
        ({}, (4, 1), "kv_heads=2 is not a multiple of tp=4"),
        ({"kv_heads": 4, "ffn": 258}, (4, 1), "ffn=258"),
        ({}, (2, 4), r"gdn_key_heads=4 is not a multiple of tp\*cp=8"),
        ({"gdn_value_heads": 8}, (1, 8), r"gdn_key_heads=4 is not a multiple of tp\*cp=8"),
        ({}, (0, 1), "at least 1"),
    ],
)
def test_a_shape_that_would_split_a_head_is_refused(changes, shape, message):
    config = replace(TINY, **changes)
    config.require_parallel(tp=2, cp=2)
    with pytest.raises(InvalidInputError, match=message):
        config.require_parallel(tp=shape[0], cp=shape[1])


def test_layer_kinds_come_from_the_interval():
    assert TINY.kinds == ("gdn", "gdn", "gdn", "attention")
    assert (TINY.gdn_layers, TINY.uses_gdn) == (3, True)
    assert preset("attention-tiny").kinds == ("attention",) * 4
    assert not preset("attention-tiny").uses_gdn


@pytest.mark.parametrize(
    ("name", "model"), [("qwen3-4b-like", "Qwen/Qwen3-4B"), ("qwen3.5-4b-like", "Qwen/Qwen3.5-4B")]
)
def test_full_size_presets_have_the_geometry_that_was_measured_elsewhere(shared, name, model):
    certificate = json.loads((shared / "evidence" / "h200-dense-h2560.certificate.json").read_text())
    cells = [cell for cell in certificate["cells"] if cell["model"] == model]
    assert cells
    config: ModelConfig = preset(name)
    assert all(config.geometry() == cell["geometry"] for cell in cells)
    whole = max(cells, key=lambda cell: cell["facts"]["layers"])
    assert (config.layers, config.gdn_layers) == (whole["facts"]["layers"], whole["facts"]["gdn_layers"])


def test_an_unknown_preset_is_refused_with_the_known_names():
    with pytest.raises(NotFoundError, match="hybrid-tiny"):
        preset("hybrid-huge")
    assert all(preset(name) is config for name, config in PRESETS.items())
