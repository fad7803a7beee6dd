"""The exact search: the cheapest of all layouts, in polynomial time.

A table of linear costs (``_tiers``) is filled from the deepest decisions upwards. From the roots down, every
choice within the slack of the best is followed; back up, those few are settled by the true integers and the
tie-breaks. All passes go tier by tier; nothing is recursive.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from planner._decisions import DecisionForest, masks_to_flags, order_key
from planner._measure import measure
from planner._price import Price
from planner._score import Found
from planner._tiers import LinearPrice, Table, Tails, Tier, fill_tables, split_into_tiers

LARGEST_TABLE = 8_000_000
"""Cells of the largest table that is filled; a tree that needs more is left to the bounded search."""

FEW_DECISIONS = 6
"""Up to so many decisions all layouts are measured, which is faster than a table."""

FEW_LEVELS = 6
"""Up to so many levels it is not worth a look which of them can pay."""

Place = tuple[int, int, int]
"""A cell of a tier's table: place, nearest shared ancestor, levels allowed less one."""

Part = tuple[int, int, int, int, int]
"""A choice for a part of the tree: linear cost, packed tokens, segments, their and decisions' work, mask.

Bit 0 of the mask is the part's first decision: masks of small parts stay short, whatever the tree."""


def exact_search(forest: DecisionForest, price: Price) -> Found | None:
    """Return the cheapest layout, None where the table would be too large."""
    if forest.count <= FEW_DECISIONS:
        return _least_of_all(forest, price)
    linear = LinearPrice(price)
    levels = _levels_that_can_pay(forest, linear)
    if int(forest.depths.sum()) * levels > LARGEST_TABLE:
        return None
    loose, tiers = split_into_tiers(forest, price.tiny_below)
    tables = fill_tables(tiers, linear, levels, big_integers=linear.needs_big_integers(forest))
    best = _Settlement(tiers, tables, linear)
    return best.settle(_tail_part(loose, 0, 0, linear), levels)


def _least_of_all(forest: DecisionForest, price: Price) -> Found:
    """Measure every layout of a small tree at once."""
    masks = range(1 << forest.count)
    found = measure(forest, masks_to_flags(masks, forest.count), price.tiny_below)
    columns = (price.work(found), found.packed_tokens, found.segment_count, found.max_depth)
    scores = list(zip(*(column.tolist() for column in columns), strict=True))
    least = min(scores)
    ties = [mask for mask, score in zip(masks, scores, strict=True) if score == least]
    return min(ties, key=order_key), least


def _levels_that_can_pay(forest: DecisionForest, linear: LinearPrice) -> int:
    """Levels past which the levels' own work exceeds all that sharing can save."""
    most, price = forest.max_depth + 1, linear.price
    if most <= FEW_LEVELS or not price.further_level:
        return most
    full = (1 << forest.count) - 1
    found = measure(forest, masks_to_flags([0, full], forest.count), price.tiny_below)
    reached = min(price.work(found).tolist())
    # Full sharing packs the fewest tokens, so no layout costs less than their work and its levels.
    least = sum(rate.price(int(found.packed_tokens[1])) for rate in price.tokens)
    spare = reached - least - price.first_level
    return min(most, 2 + max(0, spare) // price.further_level)


class _Settlement:
    """The second pass over filled tables."""

    def __init__(self, tiers: list[Tier], tables: list[Table], linear: LinearPrice) -> None:
        self._tiers = tiers
        self._tables = tables
        self._linear = linear

    def settle(self, loose: Part, levels: int) -> Found:
        """Return the best layout; ``loose`` are the rows without a decision."""
        linear, price = self._linear, self._linear.price
        roots = range(len(self._tiers[0].decisions))
        totals = [
            sum(min(self._costs(0, (root, 0, level))) for root in roots)
            + linear.scale * price.levels(level + 1)
            for level in range(levels)
        ]
        near = [level for level, total in enumerate(totals) if total <= min(totals) + linear.slack]
        parts = self._parts({(root, 0, level) for root in roots for level in near})
        found = [
            (work, packed, segments, level + 1, order_key(mask), mask)
            for level in near
            for _, packed, segments, extra, mask in _combined(
                loose, self._shifted(0, 0, parts, ((root, 0, level) for root in roots)), linear.slack
            )
            for work in [sum(rate.price(packed) for rate in price.tokens) + extra + price.levels(level + 1)]
        ]
        # The best layout stands at its own depth: allowing it more levels makes its tuple no less.
        *score, _, mask = min(found)
        return mask, (score[0], score[1], score[2], score[3])

    def _costs(self, tier: int, cell: Place) -> tuple[int, int]:
        table = self._tables[tier]
        return int(table.replay[cell]), int(table.share[cell])

    def _parts(self, cells: set[Place]) -> dict[Place, list[Part]]:
        """For the first tier's cells the choices that may still be best."""
        wanted = [cells]
        for tier in range(len(self._tiers) - 1):
            wanted.append({cell for above in wanted[tier] for cell in self._cells_below(tier, above)})
        parts: dict[Place, list[Part]] = {}
        for tier in range(len(self._tiers) - 1, -1, -1):
            parts = {cell: self._choices(tier, cell, parts) for cell in wanted[tier]}
        return parts

    def _open(self, tier: int, cell: Place) -> tuple[bool, bool]:
        """Whether replaying and whether sharing may be best in a cell."""
        replay, share = self._costs(tier, cell)
        limit = min(replay, share) + self._linear.slack
        return replay <= limit, share <= limit

    def _cells_below(self, tier: int, cell: Place) -> list[Place]:
        place, ancestor, level = cell
        replay, share = self._open(tier, cell)
        children = self._children(tier, place)
        below = [(child, ancestor, level) for child in children] if replay else []
        return below + ([(child, tier + 1, level - 1) for child in children] if share else [])

    def _children(self, tier: int, place: int) -> range:
        first = self._tiers[tier].first_child
        return range(int(first[place]), int(first[place + 1]))

    def _choices(self, tier: int, cell: Place, below: dict[Place, list[Part]]) -> list[Part]:
        place, ancestor, level = cell
        linear, children, tails = self._linear, self._children(tier, place), self._tiers[tier].tails
        index = self._tiers[tier].decisions[place]
        replay, share = self._open(tier, cell)
        found: list[Part] = []
        if replay:
            tail = _tail_part(tails, place, ancestor, linear)
            cells = ((child, ancestor, level) for child in children)
            found += _combined(tail, self._shifted(tier + 1, index, below, cells), linear.slack)
        if share:
            own = _joined(
                self._own_part(tier, place, ancestor), _tail_part(tails, place, tier + 1, linear), 0
            )
            cells = ((child, tier + 1, level - 1) for child in children)
            found += _combined(own, self._shifted(tier + 1, index, below, cells), linear.slack)
        return _thinned(found, linear.slack)

    def _shifted(
        self, tier: int, base: int, parts: dict[Place, list[Part]], cells: Iterable[Place]
    ) -> Iterator[tuple[list[Part], int]]:
        """Cells' choices, with how far their masks lie above that of decision ``base``."""
        for cell in cells:
            yield parts[cell], self._tiers[tier].decisions[cell[0]] - base

    def _own_part(self, tier: int, place: int, ancestor: int) -> Part:
        """The decision's own segment."""
        where, price = self._tiers[tier], self._linear.price
        span = int(where.ends[place, tier + 1]) - int(where.ends[place, ancestor])
        tiny = int(span < price.tiny_below)
        extra = price.segment + price.tiny * tiny + price.decision
        cost = self._linear.token * span + self._linear.scale * extra
        return cost, span, 1, extra, 1


def _tail_part(tails: Tails, place: int, ancestor: int, linear: LinearPrice) -> Part:
    tokens, count = int(tails.tokens[place, ancestor]), int(tails.count[place, ancestor])
    extra = linear.price.segment * count + linear.price.tiny * int(tails.tiny[place, ancestor])
    return linear.token * tokens + linear.scale * extra, tokens, count, extra, 0


def _joined(left: Part, right: Part, shift: int) -> Part:
    return (
        left[0] + right[0],
        left[1] + right[1],
        left[2] + right[2],
        left[3] + right[3],
        left[4] | right[4] << shift,
    )


def _combined(first: Part, others: Iterable[tuple[list[Part], int]], slack: int) -> list[Part]:
    """Join every choice of each of several parts, thinning as they grow."""
    parts = [first]
    for choices, shift in others:
        parts = _thinned([_joined(left, right, shift) for left in parts for right in choices], slack)
    return parts


def _thinned(parts: list[Part], slack: int) -> list[Part]:
    """Drop what no completion can make best.

    A choice is out when its cost is past the slack, or when another packs no more tokens in no more segments
    with no more other work; of equals the least by the tie-break stays. That is safe: of two choices that
    pack equally many tokens none shares all that the other does, so the parts' tie-break is the wholes'.
    """
    if len(parts) == 1:
        return parts
    limit = min(part[0] for part in parts) + slack
    kept: list[Part] = []
    for part in sorted((part for part in parts if part[0] <= limit), key=_by_measures):
        if not any(other[2] <= part[2] and other[3] <= part[3] for other in kept):
            kept.append(part)
    return kept


def _by_measures(part: Part) -> tuple[Any, ...]:
    return part[1], part[2], part[3], order_key(part[4])
