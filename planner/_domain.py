"""What a running model is, what a table was measured on, and whether the one lies in the other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from planner._facts import ScoringFacts

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """A kind of device.

    Args:
        capability: ``sm_90`` for a CUDA device, ``cpu:<model class>`` for a CPU.
        memory: ``below-70g``, ``70g-to-120g`` or ``above-120g``, in GiB.
    """

    capability: str
    memory: str

    @classmethod
    def cuda(cls, major: int, minor: int, memory_bytes: int) -> "DeviceClass":
        """Make the class of a CUDA device from its compute capability and total memory."""
        return cls(f"sm_{major}{minor}", memory_bucket(memory_bytes))

    @classmethod
    def cpu(cls, model_class: str, memory_bytes: int) -> "DeviceClass":
        """Make the class of a machine's CPU."""
        return cls(f"cpu:{model_class}", memory_bucket(memory_bytes))


def memory_bucket(memory_bytes: int) -> Literal["below-70g", "70g-to-120g", "above-120g"]:
    """Return the class of a device's memory (design, section 6): below 70 GiB, 70 to 120, above."""
    if memory_bytes < 70 * GIB:
        return "below-70g"
    return "70g-to-120g" if memory_bytes <= 120 * GIB else "above-120g"


@dataclass(frozen=True, slots=True)
class ModelGeometry:
    """Widths, heads, GDN and expert shapes: never a model's name, never its number of layers."""

    hidden_size: int
    ffn_hidden_size: int
    num_attention_heads: int
    num_query_groups: int
    kv_channels: int
    gdn_conv_kernel: int = 0
    gdn_key_head_dim: int = 0
    gdn_key_heads: int = 0
    gdn_value_head_dim: int = 0
    gdn_value_heads: int = 0
    moe_experts: int = 0
    moe_ffn_hidden_size: int = 0
    moe_shared_expert_ffn: int = 0
    moe_topk: int = 0


@dataclass(frozen=True, slots=True)
class ParallelShape:
    """Sizes of the tensor, context, expert and expert-tensor parallel groups."""

    tp: int = 1
    cp: int = 1
    ep: int = 1
    etp: int = 1


@dataclass(frozen=True, slots=True)
class RuntimeFacts:
    """Everything that admission and scoring ask of a running model.

    Args:
        device: the device's class.
        dtype: of the parameters, as ``bfloat16``; a ``torch.`` before it is taken off.
        geometry: read from the model's config.
        shape: parallel sizes.
        layers: all decoder layers.
        gdn_layers: the Gated-DeltaNet layers among them.
        grad: whether the step has a backward; tables are measured with one.
    """

    device: DeviceClass
    dtype: str
    geometry: ModelGeometry
    shape: ParallelShape
    layers: int
    gdn_layers: int = 0
    grad: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", str(self.dtype).removeprefix("torch."))

    @property
    def scoring(self) -> ScoringFacts:
        """The part that scores depend on."""
        return ScoringFacts(
            cp_size=self.shape.cp,
            tp_size=self.shape.tp,
            layers=self.layers,
            gdn_layers=self.gdn_layers,
            uses_gdn=self.gdn_layers > 0,
            ep_size=self.shape.ep,
            etp_size=self.shape.etp,
        )


@dataclass(frozen=True, slots=True)
class Domain:
    """What a table was measured on; a runtime is in it when each of its parts is listed."""

    device_classes: frozenset[DeviceClass]
    dtypes: frozenset[str]
    geometries: frozenset[ModelGeometry]
    shapes: frozenset[ParallelShape]
    withheld: Mapping[tuple[ModelGeometry, ParallelShape], str]

    def refusal(self, runtime: RuntimeFacts) -> str | None:
        """Return why a runtime is outside, None where it is inside."""
        parts: tuple[tuple[str, Any, frozenset[Any]], ...] = (
            ("device class", runtime.device, self.device_classes),
            ("dtype", runtime.dtype, self.dtypes),
            ("geometry", runtime.geometry, self.geometries),
            ("parallel shape", runtime.shape, self.shapes),
        )
        for name, found, measured in parts:
            if found not in measured:
                return f"{name} {found} was not measured"
        if not runtime.grad:
            return "steps without a backward were not measured"
        withheld = self.withheld.get((runtime.geometry, runtime.shape))
        return None if withheld is None else f"{runtime.shape} of this geometry is withheld: {withheld}"

    def admits(self, runtime: RuntimeFacts) -> bool:
        """Whether a runtime is inside."""
        return self.refusal(runtime) is None
