"""The exact search's table: least linear costs of subtrees, tier by tier from the deepest upwards.

What a decision's subtree costs depends on the rest of the layout through two things only: its nearest shared
ancestor, and how many levels may lie below that. *Linear* cost gives every packed token one price; the true
work floors token work and lies off it by less than a known slack.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import lcm
from typing import Any

import numpy as np

from planner._arrays import Flags, Integers, Numbers
from planner._decisions import DecisionForest
from planner._price import LARGEST_INT64, Price


class LinearPrice:
    """A price with token work unfloored; costs are scaled up so that they stay integers.

    Attributes:
        scale: one unit of work.
        token: a packed token.
        slack: scaled true works of two layouts differ from their linear costs' difference by at most this.
    """

    def __init__(self, price: Price) -> None:
        self.price = price
        self.scale = lcm(*(rate.denominator for rate in price.tokens))
        shares = [(rate, self.scale // rate.denominator) for rate in price.tokens]
        self.token = sum(rate.factor * rate.numerator * share for rate, share in shares)
        self.slack = sum(rate.factor * (rate.denominator - 1) * share for rate, share in shares)

    def cost(self, packed: Any, segments: Any, tiny: Any) -> Any:
        """Cost of tokens in segments, so many of them tiny; integers or arrays."""
        price, scale = self.price, self.scale
        return self.token * packed + (scale * price.segment) * segments + (scale * price.tiny) * tiny

    def needs_big_integers(self, forest: DecisionForest) -> bool:
        """Whether some cost, or a sum of them, may not fit 64 bits."""
        segments = len(forest.row_lengths) + forest.count
        decisions = self.scale * self.price.decision * forest.count
        return self.cost(forest.token_count, segments, segments) + decisions + self.slack >= LARGEST_INT64


@dataclass(frozen=True, slots=True)
class Tails:
    """The tails of some rows, summed, by the place of their decision and the depth of what covers them."""

    tokens: Numbers
    count: Numbers
    tiny: Numbers


@dataclass(frozen=True, slots=True)
class Tier:
    """The decisions of one depth; an ancestor is named by its depth, 0 stands for none.

    Args:
        decisions: their indices, ascending; a decision's position here is its place.
        tailless: for each whether it needs no level below itself when shared.
        first_child: place of each one's first child in the next tier; one more entry ends the last.
        ends: by place and ancestor, itself last, where that ends.
        tails: of its own rows, by place and nearest shared ancestor, itself last.
    """

    decisions: list[int]
    tailless: Flags
    first_child: Integers
    ends: Numbers
    tails: Tails


@dataclass(frozen=True, slots=True)
class Table:
    """Least costs of a tier's subtrees by place, nearest shared ancestor and levels allowed less one."""

    replay: Numbers
    share: Numbers


def split_into_tiers(forest: DecisionForest, tiny_below: int) -> tuple[Tails, list[Tier]]:
    """Split the forest by depth; first come the rows without any decision."""
    by_tier = np.argsort(forest.depths, kind="stable")
    place = np.empty(forest.count + 1, dtype=np.int64)
    place[by_tier] = np.arange(forest.count)
    place[-1] = forest.count
    # Rows and children in the order of their decisions' places, so that each decision's are one run.
    lengths = forest.row_lengths[np.argsort(place[forest.row_decisions], kind="stable")]
    first_row = _firsts(np.bincount(forest.row_decisions, minlength=forest.count + 1)[np.append(by_tier, -1)])
    children = np.bincount(forest.parents, minlength=forest.count + 1)[by_tier]
    bounds = [0, *np.bincount(forest.depths, minlength=1)[1:].cumsum().tolist()]
    ends, above = np.zeros((1, 1), dtype=np.int64), 0
    tiers: list[Tier] = []
    for start, stop in pairwise(bounds):
        decisions = by_tier[start:stop]
        parents = place[forest.parents[decisions]] - above if start else np.zeros(stop, dtype=np.int64)
        ends, above = np.concatenate((ends[parents], forest.ends[decisions, None]), axis=1), start
        tails = _tails(lengths, first_row[start : stop + 1], ends, tiny_below)
        first_child = _firsts(children[start:stop])
        tiers.append(Tier(decisions.tolist(), forest.tailless[decisions], first_child, ends, tails))
    nothing = np.zeros((1, 1), dtype=np.int64)
    return _tails(lengths, first_row[forest.count :], nothing, tiny_below), tiers


def _tails(lengths: Integers, first_row: Integers, ends: Numbers, tiny_below: int) -> Tails:
    own = lengths[first_row[0] : first_row[-1], None]
    left = own - ends.repeat(np.diff(first_row), axis=0)
    there = left > 0
    first = first_row - first_row[0]
    return Tails(_sums(left, first), _sums(there, first), _sums(there & (left < tiny_below), first))


def fill_tables(tiers: list[Tier], linear: LinearPrice, levels: int, *, big_integers: bool) -> list[Table]:
    """Fill each tier's table; ``levels`` is the most that are allowed."""
    tables: list[Table] = []
    below: Numbers | None = None
    for tier in reversed(tiers):
        table = _table(tier, below, linear, levels, np.object_ if big_integers else np.int64)
        below = np.minimum(table.replay, table.share)
        tables.append(table)
    return tables[::-1]


def _table(tier: Tier, below: Numbers | None, linear: LinearPrice, levels: int, kind: Any) -> Table:
    tails = tier.tails
    costs = linear.cost(tails.tokens.astype(kind), tails.count.astype(kind), tails.tiny.astype(kind))
    under = np.empty((*costs.shape, levels), dtype=kind)
    under[:] = costs[:, :, None]
    if below is not None:
        under += _sums(below, tier.first_child)
    own = own_costs(tier, linear, kind)
    replay = under[:, :-1]
    share = np.empty_like(replay)
    np.add(own[:, :, None], under[:, -1:, :-1], out=share[:, :, 1:])
    # With one level allowed only what leaves nothing below can be shared; the rest is priced out of reach.
    share[:, :, 0] = np.where(tier.tailless[:, None], own, replay[:, :, 0] + (linear.slack + 1))
    return Table(replay, share)


def own_costs(tier: Tier, linear: LinearPrice, kind: Any) -> Numbers:
    """Cost of each decision's own segment by its nearest shared ancestor."""
    spans = tier.ends[:, -1:] - tier.ends[:, :-1]
    tiny = (spans < linear.price.tiny_below).astype(kind)
    return linear.cost(spans.astype(kind), 1, tiny) + linear.scale * linear.price.decision


def _firsts(counts: Integers) -> Integers:
    """Return where each run begins, and where the last ends."""
    firsts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=firsts[1:])
    return firsts


def _sums(values: Numbers, first: Integers) -> Numbers:
    """Sum runs of rows; a run may be empty."""
    kind = np.int64 if values.dtype == np.bool_ else values.dtype
    sums = np.zeros((len(first) - 1, *values.shape[1:]), dtype=kind)
    filled = np.flatnonzero(first[1:] > first[:-1])
    if filled.size:
        sums[filled] = np.add.reduceat(values, first[filled], axis=0, dtype=kind)
    return sums
