"""What a model is: widths, layer kinds, adapters; its geometry; what parallel shapes it can be split into."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from schemas import InvalidInputError

LayerKind = Literal["attention", "gdn"]

DTYPES = ("bfloat16", "float32", "float64")


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """A decoder of pre-norm blocks; every number is a width or a count of the whole, unsplit model.

    `attention_interval` n makes every n-th layer an attention layer and the others Gated DeltaNet; 1 is
    attention throughout. GDN fields are 0 exactly when there is no GDN layer.

    Raises:
        InvalidInputError: numbers that do not make a model, named by field.
    """

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    attention_interval: int = 1
    gdn_key_heads: int = 0
    gdn_value_heads: int = 0
    gdn_key_dim: int = 0
    gdn_value_dim: int = 0
    conv_kernel: int = 4
    gdn_chunk: int = 32
    lora_rank: int = 8
    lora_alpha: float = 16.0
    rope_base: float = 10_000.0
    norm_eps: float = 1e-6
    dtype: str = "float32"

    def __post_init__(self) -> None:
        for problem in self._problems():
            raise InvalidInputError(f"model configuration: {problem}")

    def _problems(self) -> Iterator[str]:
        for name in ("hidden", "layers", "heads", "kv_heads", "head_dim", "ffn", "vocab", "lora_rank"):
            if getattr(self, name) < 1:
                yield f"{name} is {getattr(self, name)}; it must be at least 1"
        if self.attention_interval < 1:
            yield f"attention_interval is {self.attention_interval}; 1 means attention in every layer"
        if self.head_dim % 2:
            yield f"head_dim is {self.head_dim}; rotary positions need an even width"
        if self.heads % self.kv_heads:
            yield f"heads ({self.heads}) must be a multiple of kv_heads ({self.kv_heads})"
        if self.dtype not in DTYPES:
            yield f"dtype is {self.dtype!r}; choose one of {', '.join(DTYPES)}"
        yield from self._gdn_problems()

    def _gdn_problems(self) -> Iterator[str]:
        fields = (self.gdn_key_heads, self.gdn_value_heads, self.gdn_key_dim, self.gdn_value_dim)
        if self.uses_gdn and min(*fields, self.conv_kernel, self.gdn_chunk) < 1:
            yield "a model with Gated-DeltaNet layers needs every gdn_* field and conv_kernel at least 1"
        elif self.uses_gdn and self.gdn_value_heads % self.gdn_key_heads:
            yield (
                f"gdn_value_heads ({self.gdn_value_heads}) must be a multiple of "
                f"gdn_key_heads ({self.gdn_key_heads})"
            )
        elif not self.uses_gdn and any(fields):
            yield "gdn_* fields are set, but attention_interval leaves no Gated-DeltaNet layer; set them to 0"

    @property
    def kinds(self) -> tuple[LayerKind, ...]:
        """The kind of each layer, first to last."""
        return tuple(
            "attention" if (layer + 1) % self.attention_interval == 0 else "gdn"
            for layer in range(self.layers)
        )

    @property
    def gdn_layers(self) -> int:
        """How many layers are Gated DeltaNet."""
        return self.kinds.count("gdn")

    @property
    def uses_gdn(self) -> bool:
        """Whether any layer is Gated DeltaNet."""
        return self.gdn_layers > 0

    def geometry(self) -> dict[str, int]:
        """The shape facts that a coefficient table's domain is made of; layer counts are not among them."""
        return {
            "ffn_hidden_size": self.ffn,
            "gdn_conv_kernel": self.conv_kernel if self.uses_gdn else 0,
            "gdn_key_head_dim": self.gdn_key_dim,
            "gdn_key_heads": self.gdn_key_heads,
            "gdn_value_head_dim": self.gdn_value_dim,
            "gdn_value_heads": self.gdn_value_heads,
            "hidden_size": self.hidden,
            "kv_channels": self.head_dim,
            "moe_experts": 0,
            "moe_ffn_hidden_size": 0,
            "moe_shared_expert_ffn": 0,
            "moe_topk": 0,
            "num_attention_heads": self.heads,
            "num_query_groups": self.kv_heads,
        }

    def require_parallel(self, *, tp: int, cp: int) -> None:
        """Refuse a parallel shape that would split a head or leave a rank without one.

        Raises:
            InvalidInputError: naming the field that does not divide.
        """
        if tp < 1 or cp < 1:
            raise InvalidInputError(f"parallel shape: tp={tp}, cp={cp}; both must be at least 1")
        for name, parts, meaning in (
            ("heads", tp, "tp"),
            ("kv_heads", tp, "tp"),
            ("ffn", tp, "tp"),
            ("gdn_key_heads", tp * cp, "tp*cp"),
            ("gdn_value_heads", tp * cp, "tp*cp"),
        ):
            if getattr(self, name) % parts:
                raise InvalidInputError(
                    f"parallel shape tp={tp}, cp={cp}: {name}={getattr(self, name)} is not a multiple of "
                    f"{meaning}={parts}; choose a shape that divides it, or another model"
                )
