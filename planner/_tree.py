"""The canonical prefix tree of a set of rows (design, section 6).

A path of the tree is *owned* by the first row that goes along it: a row owns what lies past the position
where it leaves the path of an earlier row, its *host*. A new row is compared, whole stretches at a time, with
the last row that took the same branch, so that every token is read a bounded number of times. Owned paths,
cut where other rows leave or end, are the tree's segments.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

from planner._arrays import Tokens
from planner._rows import token_rows

FIRST_STRETCH = 4096
STRETCH_GROWTH = 8
NO_NODE = -1


@dataclass(frozen=True, slots=True)
class Segment:
    """A maximal run of positions that the same rows share.

    Args:
        parent: index of the segment before it, None for a root.
        start: first token position inside the rows.
        end: position past its last token.
        depth: 1 for a root, else the parent's plus 1.
        row_count: rows that go through it.
        first_row: how many rows come before its own in tree order, in which they lie together.
    """

    parent: int | None
    start: int
    end: int
    depth: int
    row_count: int
    first_row: int
    _order: Sequence[int] = field(repr=False, compare=False)

    @property
    def rows(self) -> tuple[int, ...]:
        """Ascending numbers of the rows through it, those that end at ``end`` included."""
        return tuple(sorted(self._order[self.first_row : self.first_row + self.row_count]))


class PrefixTree:
    """The segments of a set of rows, parents before children, siblings in order of first appearance.

    Segments are kept as columns, so that a tree of 100,000 rows stays small; ``segments`` makes them objects.
    """

    def __init__(
        self, parents: list[int], ends: list[int], row_nodes: list[int], row_lengths: list[int]
    ) -> None:
        self.parents = parents
        self.ends = ends
        self.row_nodes = row_nodes
        self.row_lengths = row_lengths
        self.starts = [ends[parent] if parent >= 0 else 0 for parent in parents]
        self.depths = _depths(parents)
        self.row_counts = _row_counts(parents, row_nodes)

    def __len__(self) -> int:
        return len(self.parents)

    def __repr__(self) -> str:
        return (
            f"PrefixTree(rows={self.row_count}, segments={len(self)}, "
            f"decisions={len(self.decisions)}, tokens={self.token_count})"
        )

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return len(self.row_nodes)

    @cached_property
    def token_count(self) -> int:
        """Tokens of all rows together, nothing shared."""
        return sum(self.row_lengths)

    @cached_property
    def decisions(self) -> tuple[int, ...]:
        """Ascending indices of the segments that two or more rows go through."""
        return tuple(index for index, count in enumerate(self.row_counts) if count > 1)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The segments; a segment's index is its position."""
        order = sorted(range(self.row_count), key=self.row_nodes.__getitem__)
        first = _first_rows(len(self), self.row_nodes)
        columns = zip(self.parents, self.starts, self.ends, self.depths, self.row_counts, first, strict=True)
        return tuple(
            Segment(parent if parent >= 0 else None, start, end, depth, count, low, order)
            for parent, start, end, depth, count, low in columns
        )

    @cached_property
    def identity(self) -> bytes:
        """What every layout of these rows depends on: equal for two sets of rows with the same tree.

        Tokens enter through the positions where rows part and end, and in no other way, so rows that differ
        only in what their tokens say have the same layouts, scores and selection.
        """
        return array("q", [len(self), *self.parents, *self.ends, *self.row_nodes]).tobytes()


def build_prefix_tree(rows: Sequence[Any]) -> PrefixTree:
    """Build the canonical prefix tree; cost is linear in tokens, and no depth is too deep.

    Args:
        rows: one-dimensional sequences of integer tokens: numpy arrays, CPU tensors or lists.

    Raises:
        ValueError: no rows, an empty row, a row of other than one dimension, or tokens that are no integers.
    """
    arrays = token_rows(rows)
    paths = _Paths(arrays)
    for row in range(len(arrays)):
        paths.add(row)
    parents, ends, row_nodes = _emit(paths)
    return PrefixTree(parents, ends, row_nodes, paths.lengths)


def _common_end(left: Tokens, right: Tokens, position: int) -> int:
    """Return the first position from ``position`` where two rows differ, or where the shorter ends."""
    end = min(left.shape[0], right.shape[0])
    stretch = FIRST_STRETCH
    while position < end:
        stop = min(end, position + stretch)
        differs = left[position:stop] != right[position:stop]
        first = int(differs.argmax())
        if differs[first]:
            return position + first
        position = stop
        # A fixed first stretch would cost a call per stretch on long rows; growth keeps over-reading bounded.
        stretch *= STRETCH_GROWTH
    return end


class _Paths:
    """Which row owns which path, and where rows leave their hosts."""

    def __init__(self, rows: list[Tokens]) -> None:
        self.rows = rows
        self.lengths = [row.shape[0] for row in rows]
        self.hosts: list[int] = []
        self.leaves: list[int] = []
        self.roots: list[int] = []
        self.guests: dict[int, list[tuple[int, int]]] = {}
        self.cuts: dict[int, list[int]] = {}
        self._first_tokens: dict[int, int] = {}
        self._branches: dict[tuple[int, int], dict[int, int]] = {}

    def add(self, row: int) -> None:
        """Find the longest path that an earlier row shares with this one, and attach it there."""
        rows, length = self.rows, self.lengths[row]
        tokens = rows[row]
        first = int(tokens[0])
        other = self._first_tokens.get(first, NO_NODE)
        self._first_tokens[first] = row
        if other == NO_NODE:
            self.roots.append(row)
            self._attach(row, NO_NODE, 0)
            return
        position = 1
        while True:
            position = _common_end(tokens, rows[other], position)
            host = self._owner(other, position)
            taken = self._cut(host, position)
            if position == length:
                break
            token = int(tokens[position])
            other = taken.get(token, NO_NODE)
            taken[token] = row
            if other == NO_NODE:
                self.guests.setdefault(host, []).append((position, -row))
                break
            position += 1
        self._attach(row, host, position)

    def _attach(self, row: int, host: int, position: int) -> None:
        assert row == len(self.hosts)
        self.hosts.append(host)
        self.leaves.append(position)

    def _owner(self, row: int, position: int) -> int:
        """Return the owner of the path of ``row`` just before ``position``."""
        leaves, hosts = self.leaves, self.hosts
        while position <= leaves[row]:
            row = hosts[row]
        return row

    def _cut(self, host: int, position: int) -> dict[int, int]:
        """Return what follows an owned path at a position: next token to the last row that took it."""
        taken = self._branches.get((host, position))
        if taken is None:
            taken = {}
            self._branches[host, position] = taken
            if position < self.lengths[host]:
                self.cuts.setdefault(host, []).append(position)
                taken[int(self.rows[host][position])] = host
        return taken


def _emit(paths: _Paths) -> tuple[list[int], list[int], list[int]]:
    """Walk the owned paths depth first and number their segments; returns parents, ends, each row's last."""
    parents: list[int] = []
    ends: list[int] = []
    node_at: dict[tuple[int, int], int] = {}
    hosts, leaves, lengths = paths.hosts, paths.leaves, paths.lengths
    pending = paths.roots[::-1]
    while pending:
        owner = pending.pop()
        parent = node_at.get((hosts[owner], leaves[owner]), NO_NODE)
        for end in (*sorted(paths.cuts.get(owner, ())), lengths[owner]):
            node_at[owner, end] = len(ends)
            parents.append(parent)
            parent = len(ends)
            ends.append(end)
        # The deepest guests follow the path's own end; of those at one place the earliest row is first.
        pending.extend(-guest for _, guest in sorted(paths.guests.get(owner, ())))
    row_nodes = [
        node_at[(row if leaves[row] < lengths[row] else hosts[row]), lengths[row]]
        for row in range(len(lengths))
    ]
    return parents, ends, row_nodes


def _depths(parents: list[int]) -> list[int]:
    depths: list[int] = []
    for parent in parents:
        depths.append(depths[parent] + 1 if parent >= 0 else 1)
    return depths


def _row_counts(parents: list[int], row_nodes: list[int]) -> list[int]:
    counts = [0] * len(parents)
    for node in row_nodes:
        counts[node] += 1
    for node in range(len(parents) - 1, -1, -1):
        if parents[node] >= 0:
            counts[parents[node]] += counts[node]
    return counts


def _first_rows(node_count: int, row_nodes: list[int]) -> list[int]:
    """Count for every node the rows that end in earlier ones: its rows begin there in depth-first order."""
    ending = [0] * node_count
    for node in row_nodes:
        ending[node] += 1
    return [0, *accumulate(ending)][:-1]
