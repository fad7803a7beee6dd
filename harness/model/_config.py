"""What a model is: widths, layer kinds, adapters; its geometry; what parallel shapes it can be split into."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from schemas import InvalidInputError

LayerKind = Literal["attention", "gdn"]

DTYPES = ("bfloat16", "float32", "float64")
_MOST_LAYERS = 10_000


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
    moe_experts: int = 0
    moe_topk: int = 0
    moe_ffn: int = 0
    moe_shared_ffn: int = 0
    lora_rank: int = 8
    lora_alpha: float = 16.0
    rope_base: float = 10_000.0
    norm_eps: float = 1e-6
    dtype: str = "float32"

    def __post_init__(self) -> None:
        for problem in self._problems():
            raise InvalidInputError(f"model configuration: {problem}")

    def _problems(self) -> Iterator[str]:
        for name in ("hidden", "layers", "heads", "kv_heads", "head_dim", "vocab", "lora_rank"):
            if getattr(self, name) < 1:
                yield f"{name} is {getattr(self, name)}; it must be at least 1"
        if self.layers > _MOST_LAYERS:
            yield f"layers is {self.layers}; at most {_MOST_LAYERS}"
        if self.attention_interval < 1:
            yield f"attention_interval is {self.attention_interval}; 1 means attention in every layer"
        if self.head_dim % 2:
            yield f"head_dim is {self.head_dim}; rotary positions need an even width"
        if self.heads % self.kv_heads:
            yield f"heads ({self.heads}) must be a multiple of kv_heads ({self.kv_heads})"
        if self.dtype not in DTYPES:
            yield f"dtype is {self.dtype!r}; choose one of {', '.join(DTYPES)}"
        yield from self._gdn_problems()
        yield from self._moe_problems()

    def _moe_problems(self) -> Iterator[str]:
        fields = (self.moe_experts, self.moe_topk, self.moe_ffn, self.moe_shared_ffn)
        if not self.moe_experts:
            if self.ffn < 1:
                yield f"ffn is {self.ffn}; it must be at least 1 in a model without experts"
            if any(fields):
                yield "moe_* fields are set, but moe_experts is 0; set it, or set them to 0"
            return
        if self.ffn:
            yield f"ffn is {self.ffn}, but every feed-forward part is experts; set it to 0, and moe_ffn"
        if min(*fields[:3], fields[3] + 1) < 1:
            yield "a model with experts needs moe_topk and moe_ffn at least 1, and moe_shared_ffn at least 0"
        elif self.moe_topk > self.moe_experts:
            yield f"moe_topk ({self.moe_topk}) must not exceed moe_experts ({self.moe_experts})"

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
            "moe_experts": self.moe_experts,
            "moe_ffn_hidden_size": self.moe_ffn,
            "moe_shared_expert_ffn": self.moe_shared_ffn,
            "moe_topk": self.moe_topk,
            "num_attention_heads": self.heads,
            "num_query_groups": self.kv_heads,
        }

    def require_parallel(self, *, tp: int, cp: int, ep: int = 1, etp: int = 1) -> None:
        """Refuse a parallel shape that would split a head or an expert, or leave a rank without one.

        Experts are spread over the ranks that tp and cp give: etp divides tp, ep divides tp*cp/etp.

        Raises:
            InvalidInputError: naming the field that does not divide.
        """
        shape = f"parallel shape tp={tp}, cp={cp}" + (f", ep={ep}, etp={etp}" if ep > 1 or etp > 1 else "")
        if min(tp, cp, ep, etp) < 1:
            raise InvalidInputError(f"{shape}: every size must be at least 1")
        if (ep > 1 or etp > 1) and not self.moe_experts:
            raise InvalidInputError(f"{shape}: the model has no experts to split; leave out ep and etp")
        require_expert_places(tp=tp, cp=cp, ep=ep, etp=etp)
        for name, parts, meaning in (
            ("heads", tp, "tp"),
            ("kv_heads", tp, "tp"),
            ("ffn", tp, "tp"),
            ("gdn_key_heads", tp * cp, "tp*cp"),
            ("gdn_value_heads", tp * cp, "tp*cp"),
            ("moe_experts", ep, "ep"),
            ("moe_ffn", etp, "etp"),
            ("moe_shared_ffn", tp, "tp"),
        ):
            if getattr(self, name) % parts:
                raise InvalidInputError(
                    f"{shape}: {name}={getattr(self, name)} is not a multiple of {meaning}={parts}; choose a "
                    "shape that divides it, or another model"
                )


def require_expert_places(*, tp: int, cp: int, ep: int, etp: int) -> None:
    """Refuse expert axes that the ranks of tp and cp cannot be split into.

    Raises:
        InvalidInputError: etp does not divide tp, or ep does not divide tp*cp/etp.
    """
    if tp % etp or tp * cp // etp % ep:
        raise InvalidInputError(
            f"parallel shape tp={tp}, cp={cp}, ep={ep}, etp={etp}: etp must divide tp, and ep must divide "
            "tp*cp/etp; experts are spread over the ranks that tp and cp give"
        )
