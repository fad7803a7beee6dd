"""A model's geometry and layer counts, read from its configuration; never from its name."""

from collections.abc import Mapping
from typing import Any

from planner._domain import ModelGeometry

LINEAR_LAYER = "linear_attention"


def read_model_config(config: Any) -> tuple[ModelGeometry, int, int]:
    """Read a Hugging Face style configuration.

    Args:
        config: a mapping or an object with ``hidden_size``, ``num_attention_heads`` and so on; the part named
            ``text_config`` counts where there is one.

    Returns:
        The geometry, all decoder layers, and the Gated-DeltaNet layers among them.

    Raises:
        ValueError: a field that is needed is missing; names it.
    """
    read = _Fields(config)
    heads = read.needed("num_attention_heads")
    experts = read.first("num_experts", "n_routed_experts", "num_local_experts")
    layers = read.needed("num_hidden_layers")
    gdn_layers = _gdn_layers(read, layers)
    geometry = ModelGeometry(
        hidden_size=read.needed("hidden_size"),
        ffn_hidden_size=read.first("intermediate_size"),
        num_attention_heads=heads,
        num_query_groups=read.first("num_key_value_heads") or heads,
        kv_channels=read.first("head_dim") or read.needed("hidden_size") // heads,
        gdn_conv_kernel=read.first("linear_conv_kernel_dim") if gdn_layers else 0,
        gdn_key_head_dim=read.first("linear_key_head_dim") if gdn_layers else 0,
        gdn_key_heads=read.first("linear_num_key_heads") if gdn_layers else 0,
        gdn_value_head_dim=read.first("linear_value_head_dim") if gdn_layers else 0,
        gdn_value_heads=read.first("linear_num_value_heads") if gdn_layers else 0,
        moe_experts=experts,
        moe_ffn_hidden_size=read.first("moe_intermediate_size") if experts else 0,
        moe_shared_expert_ffn=read.first("shared_expert_intermediate_size") if experts else 0,
        moe_topk=read.first("num_experts_per_tok") if experts else 0,
    )
    return geometry, layers, gdn_layers


def _gdn_layers(read: "_Fields", layers: int) -> int:
    kinds = read.get("layer_types")
    if kinds is not None:
        return sum(kind == LINEAR_LAYER for kind in kinds)
    every = read.first("full_attention_interval")
    return layers - layers // every if every and read.first("linear_num_value_heads") else 0


class _Fields:
    def __init__(self, config: Any) -> None:
        self._config: Any = config
        self._config = self.get("text_config") or config

    def get(self, name: str) -> Any:
        config: Any = self._config
        return config.get(name) if isinstance(self._config, Mapping) else getattr(config, name, None)

    def first(self, *names: str) -> int:
        """The first of several fields that is there, else 0."""
        return next((int(value) for value in map(self.get, names) if value is not None), 0)

    def needed(self, name: str) -> int:
        value = self.get(name)
        if value is None:
            raise ValueError(f"the model's configuration has no {name}")
        return int(value)
