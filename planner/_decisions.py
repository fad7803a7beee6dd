"""The decisions of a tree as columns, and sets of decisions as bit masks and rows of a Boolean matrix.

Decisions are numbered by their place in ``tree.decisions``; ancestors of a decision are decisions, so they
form a forest of their own. Bit ``i`` of a mask says that decision ``i`` is shared.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from planner._arrays import Flags, Integers
from planner._tree import PrefixTree

_LEAST_FIRST = str.maketrans("10", "01")


@dataclass(frozen=True)
class DecisionForest:
    """What layouts of a tree depend on. ``count`` decisions; index ``count`` stands for "none above".

    Args:
        nodes: the decisions' segment indices in the tree, ascending.
        parents: for each decision the decision above it, ``count`` for a root.
        depths: 1 for a root.
        ends: end of each decision's segment, with 0 appended for "none above".
        row_counts: rows through each decision.
        row_decisions: for each row the deepest decision on its path, ``count`` for none.
        row_lengths: tokens of each row.
        ending_rows: for each decision the rows that end exactly at its end.
    """

    nodes: tuple[int, ...]
    parents: Integers
    depths: Integers
    ends: Integers
    row_counts: Integers
    row_decisions: Integers
    row_lengths: Integers
    ending_rows: Integers

    @property
    def count(self) -> int:
        """Number of decisions."""
        return len(self.nodes)

    @cached_property
    def max_depth(self) -> int:
        """Depth of the deepest decision, 0 without decisions."""
        depths: list[int] = self.depths.tolist()
        return max(depths, default=0)

    @cached_property
    def token_count(self) -> int:
        """Tokens of all rows, nothing shared."""
        return int(self.row_lengths.sum())

    @cached_property
    def tailless(self) -> Flags:
        """Decisions with no decision below and no row going on: shared, they are their rows' last level."""
        direct = np.bincount(self.row_decisions, minlength=self.count + 1)[: self.count]
        inner = np.zeros(self.count + 1, dtype=np.bool_)
        inner[self.parents] = True
        return (direct == self.ending_rows) & ~inner[: self.count]

    @cached_property
    def jumps(self) -> tuple[Integers, ...]:
        """Ancestors 1, 2, 4, ... steps up, enough to reach every root from every decision."""
        jump = np.append(self.parents, self.count)
        found: list[Integers] = []
        reach = 1
        while reach < self.max_depth:
            found.append(jump)
            jump = jump[jump]
            reach *= 2
        return tuple(found)

    def subtree_mask(self, index: int) -> int:
        """Return the mask of a decision and all decisions below it: a run of bits."""
        return (1 << self._subtree_stops[index]) - (1 << index)

    @cached_property
    def _subtree_stops(self) -> list[int]:
        stops = list(range(1, self.count + 1))
        parents: list[int] = self.parents.tolist()
        for index in range(self.count - 1, -1, -1):
            if parents[index] < self.count:
                stops[parents[index]] = max(stops[parents[index]], stops[index])
        return stops

    def mask_of(self, decisions: Iterable[int]) -> int:
        """Return the mask of a set of segment indices.

        Raises:
            ValueError: an index that is no decision of the tree.
        """
        position = {node: index for index, node in enumerate(self.nodes)}
        mask = 0
        for node in decisions:
            if node not in position:
                raise ValueError(
                    f"segment {node} is no decision of this tree; its decisions are {list(self.nodes[:20])}"
                )
            mask |= 1 << position[node]
        return mask

    def decisions_of(self, mask: int) -> tuple[int, ...]:
        """Return the ascending segment indices of a mask."""
        return tuple(node for node, bit in zip(self.nodes, bin(mask)[:1:-1], strict=False) if bit == "1")


_forests: WeakKeyDictionary[PrefixTree, DecisionForest] = WeakKeyDictionary()


def forest_of(tree: PrefixTree) -> DecisionForest:
    """Return the decisions of a tree as columns; made once a tree object."""
    forest = _forests.get(tree)
    if forest is None:
        forest = _forests[tree] = _decision_forest(tree)
    return forest


def _decision_forest(tree: PrefixTree) -> DecisionForest:
    nodes = tree.decisions
    count = len(nodes)
    position = dict(zip(nodes, range(count), strict=True))
    tree_parents, ends = tree.parents, tree.ends
    row_decisions: list[int] = []
    ending = [0] * count
    for node in tree.row_nodes:
        decision = position.get(node)
        if decision is None:
            # A segment of one row hangs below a decision, or is a root.
            decision = position.get(tree_parents[node], count)
        else:
            ending[decision] += 1
        row_decisions.append(decision)
    return DecisionForest(
        nodes=nodes,
        parents=np.array([position.get(tree_parents[node], count) for node in nodes], dtype=np.int64),
        depths=np.array([tree.depths[node] for node in nodes], dtype=np.int64),
        ends=np.array([*(ends[node] for node in nodes), 0], dtype=np.int64),
        row_counts=np.array([tree.row_counts[node] for node in nodes], dtype=np.int64),
        row_decisions=np.array(row_decisions, dtype=np.int64),
        row_lengths=np.array(tree.row_lengths, dtype=np.int64),
        ending_rows=np.array(ending, dtype=np.int64),
    )


def masks_to_flags(masks: Sequence[int], count: int) -> Flags:
    """Unpack masks into a Boolean matrix, a row a mask."""
    width = (count + 7) // 8
    packed = np.frombuffer(b"".join(mask.to_bytes(width, "little") for mask in masks), dtype=np.uint8)
    return np.unpackbits(packed.reshape(len(masks), width), axis=1, count=count, bitorder="little").view(
        np.bool_
    )


def flags_to_masks(flags: Flags) -> list[int]:
    """Pack the rows of a Boolean matrix into masks."""
    packed = np.packbits(flags, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def order_key(mask: int) -> str:
    """Return a string that sorts masks as their ascending index tuples do: a prefix first, then the least."""
    return bin(mask)[:1:-1].translate(_LEAST_FIRST) if mask else ""
