"""Which keys a query sees, as a rule on numbers of each token: for attention in one kernel on CUDA."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask

from harness._pack import Ints, PackedRows


@dataclass(frozen=True, slots=True)
class Sight:
    """Numbers of local queries [L] and gathered keys [P].

    Segments are numbered in preorder, so that those below one are an interval `[enter, leave)`. A query sees
    a key where the key's interval holds the query's segment and the key's row position is not later.
    """

    query_enter: Tensor
    query_position: Tensor
    key_enter: Tensor
    key_leave: Tensor
    key_position: Tensor

    def rule(self) -> Callable[..., Tensor]:
        """A function of batch, head, query index and key index; a closure, as the compiler wants it."""
        query_enter, query_position = self.query_enter, self.query_position
        key_enter, key_leave, key_position = self.key_enter, self.key_leave, self.key_position

        def sees(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
            segment = query_enter[query]
            below = (key_enter[key] <= segment) & (segment < key_leave[key])
            return below & (key_position[key] <= query_position[query])

        return sees

    def block_mask(self) -> BlockMask:
        """The rule by blocks of 128 queries and keys; compiled on CUDA, where a dense mask would not fit."""
        device = self.query_enter.device
        return create_block_mask(
            self.rule(),
            None,
            None,
            len(self.query_enter),
            len(self.key_enter),
            device=device,
            _compile=device.type == "cuda",
        )


def sight(packed: PackedRows, local: Ints, gathered: Ints, device: torch.device | str) -> Sight:
    """The rule for packed indices `local` (queries) and `gathered` (keys), -1 at padding.

    Padding is seen by none, and itself sees what packed token 0 does: a softmax needs something.
    """
    enter, leave = _intervals(packed)
    segment = np.repeat(np.arange(len(packed.segments)), [s.length for s in packed.segments])
    queries, keys = np.maximum(local, 0), np.maximum(gathered, 0)
    numbers = (
        enter[segment][queries],
        packed.positions[queries],
        enter[segment][keys],
        np.where(gathered < 0, -1, leave[segment][keys]),
        packed.positions[keys],
    )
    return Sight(*(torch.from_numpy(np.ascontiguousarray(n, dtype=np.int64)).to(device) for n in numbers))


def _intervals(packed: PackedRows) -> tuple[Ints, Ints]:
    """Preorder numbers of segments (parents come before children) and the ends of their subtrees."""
    parents = [segment.parent for segment in packed.segments]
    sizes = np.ones(len(parents), dtype=np.int64)
    for index in range(len(parents) - 1, -1, -1):
        if parents[index] >= 0:
            sizes[parents[index]] += sizes[index]
    enter = np.zeros(len(parents), dtype=np.int64)
    free = np.zeros(len(parents) + 1, dtype=np.int64)  # next free number under each; the last is the forest's
    for index, parent in enumerate(parents):
        enter[index] = free[parent]
        free[parent] += sizes[index]
        free[index] = enter[index] + 1
    return enter, enter + sizes
