"""What forwards take, what their allocator did, and what admission decided (design, section 9)."""

from typing import Literal

from pydantic import Field

from schemas._base import Record
from schemas._canonical import digest_json

TRACE_STEPS_PER_EVENT = 5_000
"""Steps of a trace that one event carries: a line of the log stays below its limit."""


class MemorySignature(Record):
    """What an observation holds for, and nothing else."""

    model: str = Field(description="digest or name of the whole configuration, layers included")
    topology: str = Field(description="parallel shape and device class")
    grad: bool = Field(description="whether a backward follows")
    outputs: str = Field(description="what is handed back: loss, logits")


class MemoryObserved(Record):
    """One forward, with its backward where the signature has one, and the memory that it was seen to take."""

    signature: MemorySignature
    cell: str | None = None
    packed_tokens: int = Field(ge=1)
    logical_tokens: int = Field(ge=1)
    outputs: int = Field(ge=0, description="predictions handed back")
    priced_tokens: int = Field(ge=1, description="tokens that the prediction charged")
    formula: int = Field(ge=1, description="version of the estimate that predicted")
    predicted_peak_bytes: int = Field(ge=0)
    observed_peak_bytes: int = Field(ge=0, description="above what was in use before")
    retained_bytes: int = Field(ge=0, description="still in use after the forward, before the backward")
    trace: str | None = Field(default=None, description="digest of the allocator trace that shows it")


class MemoryStep(Record):
    """One record of an allocator trace, short names because there are thousands."""

    kind: Literal["alloc", "free", "enter", "exit"]
    address: int = 0
    size: int = 0
    label: str = ""


class MemoryTrace(Record):
    """An allocator trace, or one of its parts; the digest is that of the whole."""

    trace: str = Field(description="sha256 over the whole trace")
    source: Literal["cpu-profiler", "cuda-history"]
    granularity: int = Field(ge=1, description="allocations are rounded up to a multiple of so many bytes")
    from_start: bool = Field(description="whether nothing before the first step is missing")
    already_held: tuple[tuple[int, int], ...] = Field(description="(address, size) in use at the start")
    part: int = Field(ge=0)
    parts: int = Field(ge=1)
    first_order: int = Field(ge=0, description="place of this part's first step in the trace")
    steps: tuple[MemoryStep, ...] = Field(max_length=TRACE_STEPS_PER_EVENT)


class AdmissionRefused(Record):
    """A batch that nothing made fit; none of it ran."""

    signature: MemorySignature
    formula: int = Field(ge=1)
    rows: int = Field(ge=1)
    logical_tokens: int = Field(ge=1)
    predicted_peak_bytes: int = Field(ge=0, description="the least of all ways that were priced")
    usable_limit_bytes: int
    suggestion: str


class SplitPart(Record):
    """One subforward of a split batch."""

    rows: tuple[int, ...] = Field(description="the caller's numbers, in the order of its layout")
    packed_tokens: int = Field(ge=1)
    logical_tokens: int = Field(ge=1)
    required_bytes: int = Field(ge=0)
    retained_bytes: int = Field(ge=0)
    memory_minimal: bool = Field(description="every common prefix is shared because the cheaper did not fit")


class AdmissionSplit(Record):
    """A batch that fits only in parts."""

    signature: MemorySignature
    formula: int = Field(ge=1)
    predicted_peak_bytes: int = Field(ge=0)
    usable_limit_bytes: int
    parts: tuple[SplitPart, ...] = Field(min_length=2)


class LearnedProfile(Record):
    """The whole numbers learned of one signature; rates and the sharing ratio are in 2^-20."""

    signature: MemorySignature
    rate: int = Field(ge=0, description="greatest peak per priced token")
    retained_rate: int = Field(ge=0, description="greatest retained memory per priced token")
    sharing: int = Field(ge=1 << 20, description="least ratio of logical to packed tokens")
    largest_tokens: int = Field(ge=1, description="priced tokens of the largest forward seen")
    largest_packed: int = Field(ge=1)
    largest_logical: int = Field(ge=1)
    observations: int = Field(ge=1)


class MemoryModel(Record):
    """How a coefficient version prices memory: a formula, and what was learned for it.

    Reviews are bound to its digest: another formula or another profile is another digest, without reviews.
    """

    formula: int = Field(ge=1)
    profiles: tuple[LearnedProfile, ...] = ()
    evidence_root: str = Field(description="Merkle root over the segments that the profiles stand on")
    segments: tuple[str, ...] = Field(description="ids of those segments, ascending")

    @property
    def digest(self) -> str:
        """sha256 of its canonical JSON."""
        return digest_json(self.plain())
