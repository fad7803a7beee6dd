"""What a score depends on: the runtime's facts and a layout's features."""

from bisect import bisect_left
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Final, SupportsIndex

if TYPE_CHECKING:
    from schemas import CellFacts

SEGMENT_THRESHOLDS: Final = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
"""Lengths in tokens; ``LayoutFeatures.segments_below[i]`` counts the segments shorter than the i-th."""


def threshold_index(length: int) -> int:
    """Index of the first segment threshold of at least ``length`` tokens; past the last, the last."""
    return min(bisect_left(SEGMENT_THRESHOLDS, length), len(SEGMENT_THRESHOLDS) - 1)


def exact_integer(name: str, value: object) -> int:
    """The value as Python's integer; TypeError, naming it, for what is none."""
    if not isinstance(value, SupportsIndex):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    return int(index(value))


@dataclass(frozen=True, slots=True)
class ScoringFacts:
    """Parallel sizes and layer counts of the running model (design, section 6).

    Args:
        cp_size: context-parallel ranks.
        tp_size: tensor-parallel ranks.
        layers: all decoder layers.
        gdn_layers: the Gated-DeltaNet layers among them.
        uses_gdn: whether version 1 charges its dependency levels; no fitted term reads it.
        ep_size: expert-parallel ranks.
        etp_size: tensor-parallel ranks inside an expert.

    Raises:
        ValueError: a size below 1, a negative layer count, or more GDN layers than layers.
        TypeError: a size or count that is no integer.
    """

    cp_size: int = 1
    tp_size: int = 1
    layers: int = 1
    gdn_layers: int = 0
    uses_gdn: bool = False
    ep_size: int = 1
    etp_size: int = 1

    def __post_init__(self) -> None:
        for name in ("cp_size", "tp_size", "layers", "gdn_layers", "ep_size", "etp_size"):
            value = getattr(self, name)
            if type(value) is not int:
                # Scores are exact: an array library's integer would wrap around, a float would round.
                object.__setattr__(self, name, exact_integer(name, value))
        for name in ("cp_size", "tp_size", "layers", "ep_size", "etp_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 <= self.gdn_layers <= self.layers:
            raise ValueError(f"gdn_layers must lie in 0..layers ({self.layers}), got {self.gdn_layers}")

    @classmethod
    def of_cell(cls, facts: "CellFacts") -> "ScoringFacts":
        """Take over what a measured cell says of itself."""
        return cls(
            cp_size=facts.cp,
            tp_size=facts.tp,
            layers=facts.layers,
            gdn_layers=facts.gdn_layers,
            uses_gdn=facts.uses_gdn,
            ep_size=facts.ep,
            etp_size=facts.etp,
        )

    @property
    def attention_layers(self) -> int:
        """The layers that are not Gated-DeltaNet."""
        return self.layers - self.gdn_layers


@dataclass(frozen=True, slots=True)
class LayoutFeatures:
    """The integers of a layout that terms are made of.

    Args:
        packed_tokens: tokens computed, each physical segment once.
        segment_count: physical segments.
        max_depth: levels, the root's and the tails' included; 1 without sharing.
        segments_below: for each of ``SEGMENT_THRESHOLDS`` the number of segments strictly shorter.
    """

    packed_tokens: int
    segment_count: int
    max_depth: int
    segments_below: tuple[int, ...]

    @property
    def levels(self) -> int:
        """Dependency levels past the first."""
        return max(0, self.max_depth - 1)

    def below(self, length: int) -> int:
        """Segments shorter than the first threshold that is at least ``length`` tokens."""
        return self.segments_below[threshold_index(length)]
