"""Models by name: small ones for a CPU, full-size geometries (random weights) for one large GPU."""

from dataclasses import replace

from harness.model._config import ModelConfig
from schemas import NotFoundError

_ATTENTION_TINY = ModelConfig(
    hidden=128, layers=4, heads=4, kv_heads=2, head_dim=32, ffn=256, vocab=512, lora_rank=8
)
_GDN_TINY = {
    "attention_interval": 4,
    "gdn_key_heads": 4,
    "gdn_value_heads": 4,
    "gdn_key_dim": 32,
    "gdn_value_dim": 32,
}
_QWEN35_MIXERS = {
    "head_dim": 256,
    "vocab": 248_320,
    "attention_interval": 4,
    "gdn_key_heads": 16,
    "gdn_value_heads": 32,
    "gdn_key_dim": 128,
    "gdn_value_dim": 128,
    "gdn_chunk": 64,
    "rope_base": 10_000_000.0,
    "dtype": "bfloat16",
}
_MOE_TINY = {"moe_experts": 8, "moe_topk": 2, "moe_ffn": 96, "moe_shared_ffn": 64}

PRESETS: dict[str, ModelConfig] = {
    "attention-tiny": _ATTENTION_TINY,
    "hybrid-tiny": replace(_ATTENTION_TINY, **_GDN_TINY),
    "attention-small": replace(_ATTENTION_TINY, hidden=64, head_dim=16, ffn=128, vocab=256),
    "hybrid-small": replace(
        _ATTENTION_TINY,
        hidden=64,
        head_dim=16,
        ffn=128,
        vocab=256,
        **{**_GDN_TINY, "gdn_key_dim": 16, "gdn_value_dim": 16},
    ),
    "moe-tiny": replace(_ATTENTION_TINY, ffn=0, **_MOE_TINY),
    "moe-hybrid-tiny": replace(_ATTENTION_TINY, ffn=0, **_GDN_TINY, **_MOE_TINY),
    "qwen3-4b-like": ModelConfig(
        hidden=2560,
        layers=36,
        heads=32,
        kv_heads=8,
        head_dim=128,
        ffn=9728,
        vocab=151_936,
        rope_base=1_000_000.0,
        dtype="bfloat16",
    ),
    "qwen3.5-4b-like": ModelConfig(hidden=2560, layers=32, heads=16, kv_heads=4, ffn=9216, **_QWEN35_MIXERS),
    "qwen3.5-35b-a3b-like": ModelConfig(
        hidden=2048,
        layers=40,
        heads=16,
        kv_heads=2,
        ffn=0,
        moe_experts=256,
        moe_topk=8,
        moe_ffn=512,
        moe_shared_ffn=512,
        **_QWEN35_MIXERS,
    ),
}


def preset(name: str) -> ModelConfig:
    """The configuration of that name.

    Raises:
        NotFoundError: no such preset; the known names are listed.
    """
    try:
        return PRESETS[name]
    except KeyError:
        raise NotFoundError(f"no model preset {name!r}; there are: {', '.join(sorted(PRESETS))}") from None
