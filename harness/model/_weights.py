"""Full weights from a seed, the same on every rank; a rank keeps its slice of them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class WeightSource:
    """Draws weights by name: the values depend on seed, name, shape and kind of device alone."""

    seed: int
    device: torch.device
    dtype: torch.dtype

    def normal(self, name: str, shape: Sequence[int], deviation: float) -> Tensor:
        """Normal values of that standard deviation."""
        generator = torch.Generator(self.device).manual_seed(self._seed_of(name))
        values = torch.randn(*shape, generator=generator, device=self.device, dtype=self._drawn())
        return (values * deviation).to(self.dtype)

    def uniform(self, name: str, shape: Sequence[int], low: float, high: float) -> Tensor:
        """Uniform values in [low, high)."""
        generator = torch.Generator(self.device).manual_seed(self._seed_of(name))
        values = torch.rand(*shape, generator=generator, device=self.device, dtype=self._drawn())
        return (values * (high - low) + low).to(self.dtype)

    def _seed_of(self, name: str) -> int:
        text = f"{self.seed}:{name}".encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:7], "big")

    def _drawn(self) -> torch.dtype:
        # Always drawn in float32, so that every dtype rounds the same numbers.
        return torch.float32


def section_index(widths: Sequence[int], parts: int, chosen: Sequence[int]) -> Tensor:
    """Rows of a stack of sections (q, k, v, say) that belong to the chosen parts of `parts`, part after part.

    Each section of `widths` is cut into `parts` equal runs; part p is the p-th run of every section.
    """
    picked: list[Tensor] = []
    for part in chosen:
        offset = 0
        for width in widths:
            run = width // parts
            picked.append(torch.arange(offset + part * run, offset + (part + 1) * run))
            offset += width
    return torch.cat(picked)
