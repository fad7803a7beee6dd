"""A calibration cell: what is measured, where, on which shape; and its candidates."""

from typing import Annotated, Literal

from pydantic import Field

from schemas._base import Record
from schemas._number import NO_TRUTH, Integer

AUTOMATIC = "automatic"


class Geometry(Record):
    """Widths, heads, GDN and expert shapes, read from a model config; never a model name or layer counts."""

    hidden_size: int = Field(ge=1)
    ffn_hidden_size: int = Field(ge=0)
    num_attention_heads: int = Field(ge=0)
    num_query_groups: int = Field(ge=0)
    kv_channels: int = Field(ge=0)
    gdn_conv_kernel: int = Field(default=0, ge=0)
    gdn_key_head_dim: int = Field(default=0, ge=0)
    gdn_key_heads: int = Field(default=0, ge=0)
    gdn_value_head_dim: int = Field(default=0, ge=0)
    gdn_value_heads: int = Field(default=0, ge=0)
    moe_experts: int = Field(default=0, ge=0)
    moe_ffn_hidden_size: int = Field(default=0, ge=0)
    moe_shared_expert_ffn: int = Field(default=0, ge=0)
    moe_topk: int = Field(default=0, ge=0)


class DeviceClass(Record):
    """What kind of device: compute capability or CPU model class, and a memory bucket."""

    capability: str = Field(min_length=1, description="`sm_90` for CUDA, `cpu:<model class>` for a CPU")
    memory: Literal["below-70g", "70g-to-120g", "above-120g"]


class ParallelShape(Record):
    """Sizes of the tensor, context, expert and expert-tensor parallel groups."""

    tp: Integer = Field(default=1, ge=1)
    cp: Integer = Field(default=1, ge=1)
    ep: Integer = Field(default=1, ge=1)
    etp: Integer = Field(default=1, ge=1)

    @property
    def world_size(self) -> int:
        """Ranks that the shape needs."""
        return max(self.tp * self.cp, self.ep * self.etp)

    def label(self) -> str:
        """As it stands in a cell key: `tp2|cp1`, with `|ep`, `|etp` when above one."""
        tail = (f"|ep{self.ep}" if self.ep > 1 else "") + (f"|etp{self.etp}" if self.etp > 1 else "")
        return f"tp{self.tp}|cp{self.cp}{tail}"


class CellIdentity(Record):
    """Workload x model x layers x parallel shape [x group]; only candidates of one cell are comparable."""

    workload: str = Field(min_length=1, max_length=200)
    family: str = Field(min_length=1, max_length=200)
    model: str = Field(min_length=1, max_length=200)
    layers: Integer = Field(ge=1)
    shape: ParallelShape
    group: Annotated[int, Field(ge=0, lt=2**31), NO_TRUTH] | None = None

    @property
    def key(self) -> str:
        """The one name of the cell, in the origin project's order of parts."""
        group = "" if self.group is None else f"|g{self.group}"
        return f"{self.workload}|{self.model}|L{self.layers}|{self.shape.label()}{group}"


class CellFacts(Record):
    """What the cost terms read of a cell beside the layout."""

    tp: int = Field(ge=1)
    cp: int = Field(ge=1)
    ep: int = Field(default=1, ge=1)
    etp: int = Field(default=1, ge=1)
    layers: int = Field(ge=1)
    gdn_layers: int = Field(ge=0)
    uses_gdn: bool


class Fingerprint(Record):
    """Execution fingerprint: samples with different ones never mix."""

    source: str = Field(description="digest of the measuring source")
    workload: str = Field(description="digest of the workload's token rows")
    device: str
    device_class: DeviceClass
    dtype: str
    geometry: Geometry


class Features(Record):
    """The layout features that a score reads."""

    packed_tokens: int = Field(ge=1)
    segment_count: int = Field(ge=1)
    max_depth: int = Field(ge=1)
    segments_below: tuple[int, ...] = Field(
        min_length=8, max_length=8, description="shorter than 64 .. 8192 tokens, doubling"
    )


class Candidate(Record):
    """One distinct layout of a cell with every policy label that produced it."""

    label: str
    labels: tuple[str, ...]
    decisions: tuple[int, ...] | None = Field(
        default=None, description="shared decisions; null where the source did not record them"
    )
    features: Features
