"""Rows and a layout to one packed sequence: tokens, positions, segments, next-token targets.

Levels lie one after another and parents before children, so that a level is a contiguous range. Everything
here is the same on every rank; what a rank computes of it is decided in `harness._shard`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from schemas import InvalidInputError

Ints = NDArray[np.int64]


class SegmentLike(Protocol):
    """What packing reads of a physical segment: token positions `[start, end)` of the rows through it."""

    @property
    def parent(self) -> int | None: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def rows(self) -> Sequence[int]: ...


class LayoutLike(Protocol):
    """What packing reads of a layout: its physical segments, parents before children."""

    @property
    def segments(self) -> Sequence[SegmentLike]: ...


@dataclass(frozen=True, slots=True)
class PackedSegment:
    """One physical segment: `length` tokens from packed index `offset`, row position `start` onwards.

    `parent` is the index of another packed segment, or -1; `level` is 0 for roots.
    """

    offset: int
    length: int
    start: int
    parent: int
    level: int
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PackedRows:
    """A batch of rows under one layout, T packed tokens.

    `tokens` and `positions` are [T]. A target is a packed index, a next token, and how many rows have it
    there: three arrays of equal length, ordered by index; a shared segment's end has several.
    `row_paths[r]` are the packed segments of row r, first to last.
    """

    tokens: Ints
    positions: Ints
    segments: tuple[PackedSegment, ...]
    target_index: Ints
    target_token: Ints
    target_count: Ints
    row_paths: tuple[tuple[int, ...], ...]

    @property
    def total_targets(self) -> int:
        """Next-token predictions of all rows: the same for every layout."""
        return int(self.target_count.sum())

    def ancestors(self, segment: int) -> list[int]:
        """The segments above one, root first."""
        path: list[int] = []
        parent = self.segments[segment].parent
        while parent >= 0:
            path.append(parent)
            parent = self.segments[parent].parent
        return path[::-1]

    def row_index(self, row: int) -> Ints:
        """Packed indices of one row's tokens, in row order."""
        return np.concatenate([_span(self.segments[segment]) for segment in self.row_paths[row]])

    def history(self, segment: int, width: int) -> Ints:
        """Packed indices of the `width` tokens before a segment, -1 where the row had not begun.

        They may lie in several ancestors, each of a single token.
        """
        found: list[int] = []
        parent = self.segments[segment].parent
        while parent >= 0 and len(found) < width:
            above = self.segments[parent]
            first = above.offset + max(0, above.length - (width - len(found)))
            found = [*range(first, above.offset + above.length), *found]
            parent = above.parent
        return np.array([-1] * (width - len(found)) + found, dtype=np.int64)


def pack_rows(rows: Sequence[ArrayLike], layout: LayoutLike) -> PackedRows:
    """Pack rows under a layout.

    Raises:
        InvalidInputError: the layout's segments do not make up the rows (it was planned for others).
    """
    arrays = [np.asarray(row, dtype=np.int64) for row in rows]
    segments = _place(layout.segments)
    tokens = np.concatenate([arrays[s.rows[0]][s.start : s.start + s.length] for s in segments])
    positions = np.concatenate([np.arange(s.start, s.start + s.length, dtype=np.int64) for s in segments])
    paths = _row_paths(segments, len(arrays))
    for row, (array, path) in enumerate(zip(arrays, paths, strict=True)):
        covered = sum(segments[segment].length for segment in path)
        if covered != len(array):
            raise InvalidInputError(
                f"row {row} has {len(array)} tokens, its layout {covered}; plan the layout for these rows"
            )
    index, token, count = _targets(segments, tokens)
    return PackedRows(tokens, positions, segments, index, token, count, paths)


def _place(segments: Sequence[SegmentLike]) -> tuple[PackedSegment, ...]:
    """Order segments by level and give each its place in the packed sequence."""
    levels: list[int] = []
    for segment in segments:
        levels.append(0 if segment.parent is None else levels[segment.parent] + 1)
    order = sorted(range(len(segments)), key=lambda index: (levels[index], index))
    place = {old: new for new, old in enumerate(order)}
    placed: list[PackedSegment] = []
    offset = 0
    for old in order:
        segment = segments[old]
        parent = -1 if segment.parent is None else place[segment.parent]
        length = segment.end - segment.start
        placed.append(PackedSegment(offset, length, segment.start, parent, levels[old], tuple(segment.rows)))
        offset += length
    return tuple(placed)


def _row_paths(segments: Sequence[PackedSegment], rows: int) -> tuple[tuple[int, ...], ...]:
    """Levels ascend along the packed order, so appending in order gives each row's path."""
    paths: list[list[int]] = [[] for _ in range(rows)]
    for index, segment in enumerate(segments):
        for row in segment.rows:
            paths[row].append(index)
    return tuple(tuple(path) for path in paths)


def _targets(segments: Sequence[PackedSegment], tokens: Ints) -> tuple[Ints, Ints, Ints]:
    """Inside a segment all its rows share one next token; at its end each child has its own."""
    ends: dict[tuple[int, int], int] = {}
    for segment in segments:
        if segment.parent >= 0:
            above = segments[segment.parent]
            key = (above.offset + above.length - 1, int(tokens[segment.offset]))
            ends[key] = ends.get(key, 0) + len(segment.rows)
    index = _join([_span(s)[:-1] for s in segments], [at for at, _ in ends])
    token = _join([tokens[s.offset + 1 : s.offset + s.length] for s in segments], [t for _, t in ends])
    count = _join([np.full(s.length - 1, len(s.rows), dtype=np.int64) for s in segments], ends.values())
    order = np.lexsort((token, index))
    return index[order], token[order], count[order]


def _join(inner: list[Ints], ends: Iterable[int]) -> Ints:
    return np.concatenate([*inner, np.fromiter(ends, dtype=np.int64)])


def _span(segment: PackedSegment) -> Ints:
    return np.arange(segment.offset, segment.offset + segment.length, dtype=np.int64)
