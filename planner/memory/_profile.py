"""What forwards were seen to take: a learned profile, whole numbers that only grow more careful.

A profile speaks for one signature. It keeps the greatest rate of bytes per priced token, the least sharing
ratio (so that logical tokens are charged at least as they were), and the largest forward that was seen; two
profiles of the same signature combine into the more careful of both.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from planner.memory._integers import ceil_div

UNIT: Final = 1 << 20
"""Rates are kept in 2^-20 bytes per token and sharing ratios in 2^-20, so that ranks can compare them."""


@dataclass(frozen=True, slots=True)
class ForwardSize:
    """How large a forward is.

    Args:
        packed_tokens: tokens computed.
        logical_tokens: tokens of all rows together; at least the packed ones.
        outputs: predictions that are handed back.

    Raises:
        ValueError: no token, fewer logical than packed tokens, or negative outputs.
    """

    packed_tokens: int
    logical_tokens: int
    outputs: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.packed_tokens <= self.logical_tokens or self.outputs < 0:
            raise ValueError(
                f"a forward has at least 1 packed token and no fewer logical ones, and outputs of 0 or more; "
                f"got packed {self.packed_tokens}, logical {self.logical_tokens}, outputs {self.outputs}"
            )


@dataclass(frozen=True, slots=True, order=True)
class Signature:
    """What an observation holds for, and nothing else.

    Args:
        model: digest or name of the model's whole configuration, its layer count included.
        topology: parallel shape and device class.
        grad: whether a backward follows, so that activations are kept.
        outputs: what is handed back: `loss`, `logits`.
    """

    model: str
    topology: str
    grad: bool
    outputs: str


@dataclass(frozen=True, slots=True)
class Observation:
    """One forward (with its backward, where the signature has one) and the memory that it was seen to take.

    Args:
        size: the forward.
        peak_bytes: highest memory in use, above what was in use before.
        retained_bytes: memory still held after the forward, before the backward.

    Raises:
        ValueError: a negative number, or more retained than the peak.
    """

    size: ForwardSize
    peak_bytes: int
    retained_bytes: int

    def __post_init__(self) -> None:
        if not 0 <= self.retained_bytes <= self.peak_bytes:
            raise ValueError(
                f"an observation retains 0 up to its peak of {self.peak_bytes}, got {self.retained_bytes}"
            )


@dataclass(frozen=True, slots=True)
class MemoryProfile:
    """The learned numbers of one signature.

    Args:
        rate: greatest peak per priced token, in 2^-20 bytes.
        retained_rate: greatest retained memory per priced token, in 2^-20 bytes.
        sharing: least ratio of logical to packed tokens, in 2^-20, floored.
        largest_tokens: priced tokens of the largest forward seen.
        largest_packed: its packed tokens.
        largest_logical: its logical tokens.
        observations: how many forwards it stands on.
    """

    rate: int
    retained_rate: int
    sharing: int
    largest_tokens: int
    largest_packed: int
    largest_logical: int
    observations: int

    def priced_tokens(self, size: ForwardSize) -> int:
        """`max(packed, logical / sharing ratio)`, rounded up."""
        return _priced_up(size, self.sharing)

    def peak_bytes(self, tokens: int) -> int:
        """The learned peak of so many priced tokens, rounded up; no window ends it."""
        return ceil_div(self.rate * tokens, UNIT)

    def retained_bytes(self, tokens: int) -> int:
        """The learned retained memory of so many priced tokens, rounded up."""
        return ceil_div(self.retained_rate * tokens, UNIT)


def learn_profile(observations: Iterable[Observation]) -> MemoryProfile:
    """Learn the profile of observations of one signature; their order does not matter.

    Raises:
        ValueError: no observation.
    """
    seen = list(observations)
    if not seen:
        raise ValueError("a profile needs at least one observation")
    sharing = min(item.size.logical_tokens * UNIT // item.size.packed_tokens for item in seen)
    largest = max(
        (_priced_up(item.size, sharing), item.size.packed_tokens, item.size.logical_tokens) for item in seen
    )
    # Bytes are spread over tokens rounded down: over more, a rate would be lower than what was seen.
    down = [max(item.size.packed_tokens, item.size.logical_tokens * UNIT // sharing) for item in seen]
    return MemoryProfile(
        rate=max(ceil_div(i.peak_bytes * UNIT, n) for i, n in zip(seen, down, strict=True)),
        retained_rate=max(ceil_div(i.retained_bytes * UNIT, n) for i, n in zip(seen, down, strict=True)),
        sharing=sharing,
        largest_tokens=largest[0],
        largest_packed=largest[1],
        largest_logical=largest[2],
        observations=len(seen),
    )


def _priced_up(size: ForwardSize, sharing: int) -> int:
    return max(size.packed_tokens, ceil_div(size.logical_tokens * UNIT, sharing))
