"""What a coefficient version knows of memory: a formula and the profiles that were learned for it."""

from collections.abc import Mapping
from dataclasses import dataclass

from planner.memory._pricing import Formula, ModelFloor, Pricing
from planner.memory._profile import MemoryProfile, Signature


@dataclass(frozen=True, slots=True)
class LearnedMemory:
    """The memory part of a loaded version.

    Args:
        formula: which estimate it was reviewed for.
        profiles: by signature.
        digest: sha256 of its canonical JSON; reviews are bound to it.
    """

    formula: Formula
    profiles: Mapping[Signature, MemoryProfile]
    digest: str

    def pricing(self, signature: Signature, floor: ModelFloor) -> Pricing:
        """How forwards of a signature are priced; by the floor alone where nothing was learned of it."""
        return Pricing(floor, self.profiles.get(signature), grad=signature.grad, formula=self.formula)
