"""The bounded search: a beam over the tree's tiers, then flips around the best (design, section 6).

The budget counts proposals, never time, so every rank stops at the same one.
"""

from collections.abc import Iterator, Sequence
from heapq import nsmallest
from itertools import combinations, islice

from planner._candidates import search_family
from planner._decisions import DecisionForest, masks_to_flags, order_key
from planner._measure import measure
from planner._price import Price
from planner._score import Found

BEAM_WIDTH = 16
GREATEST_FLIP = 4
ALL_SETS_UP_TO = 5
"""Trees with at most so many decisions have all their sets measured at once."""

Entry = tuple[int, int, int, int, int, str, int]
"""Work, packed tokens, segments, levels, shared decisions, order key, mask: entries sort as the beam does."""


class _Scored:
    """Every set of decisions that the search has met, scored."""

    def __init__(self, forest: DecisionForest, price: Price) -> None:
        self._forest = forest
        self._price = price
        self._known: dict[int, Entry] = {}
        self.seen: set[int] = set()
        if forest.count <= ALL_SETS_UP_TO:
            self._measure(range(1 << forest.count))

    @property
    def exhausted(self) -> bool:
        """Whether no unseen set is left."""
        return len(self.seen) == 1 << self._forest.count

    def enter(self, masks: Sequence[int]) -> list[Entry]:
        """Score the masks not yet seen, in order."""
        fresh = [mask for mask in dict.fromkeys(masks) if mask not in self.seen]
        self.seen.update(fresh)
        self._measure([mask for mask in fresh if mask not in self._known])
        return [self._known[mask] for mask in fresh]

    def cheapest(self, count: int) -> list[Found]:
        """Return the least of what was entered, in order."""
        least = nsmallest(count, (self._known[mask] for mask in self.seen), key=_rank)
        return [(entry[-1], entry[:4]) for entry in least]

    def _measure(self, masks: Sequence[int]) -> None:
        if not masks:
            return
        found = measure(self._forest, masks_to_flags(masks, self._forest.count), self._price.tiny_below)
        entries = zip(
            self._price.work(found).tolist(),
            found.packed_tokens.tolist(),
            found.segment_count.tolist(),
            found.max_depth.tolist(),
            found.shared_decisions.tolist(),
            map(order_key, masks),
            masks,
            strict=True,
        )
        self._known.update(zip(masks, entries, strict=True))


def bounded_search(forest: DecisionForest, price: Price, budget: int) -> Found:
    """Return the cheapest layout that the mandatory family and ``budget`` proposals reach."""
    return _explore(forest, price, budget).cheapest(1)[0]


def bounded_shortlist(forest: DecisionForest, price: Price, budget: int, count: int) -> list[Found]:
    """Return the cheapest layouts that the search meets, in order."""
    return _explore(forest, price, budget).cheapest(count)


def _explore(forest: DecisionForest, price: Price, budget: int) -> _Scored:
    scored = _Scored(forest, price)
    entries = scored.enter(list(search_family(forest).labels))
    best = min(entries, key=_rank)
    best, budget = _refine_tiers(forest, scored, front(entries), best, budget)
    order = 1
    while budget > 0 and order <= min(GREATEST_FLIP, forest.count) and not scored.exhausted:
        proposals = list(islice(_flips(forest, best[-1], order), budget))
        budget -= len(proposals)
        best = min([best, *scored.enter(proposals)], key=_rank)
        order += 1
    return scored


def _refine_tiers(
    forest: DecisionForest, scored: _Scored, beam: list[Entry], best: Entry, budget: int
) -> tuple[Entry, int]:
    for decision in deepest_first(forest):
        if budget <= 0 or scored.exhausted:
            break
        proposals = list(islice(_tier(beam, 1 << decision, forest.subtree_mask(decision)), budget))
        budget -= len(proposals)
        tier = scored.enter(proposals)
        best = min([best, *tier], key=_rank)
        beam = front([*beam, *tier])
    return best, budget


def deepest_first(forest: DecisionForest) -> list[int]:
    """Return the decisions by depth, deepest first, then by index."""
    depths = forest.depths.tolist()
    return sorted(range(forest.count), key=lambda index: (-depths[index], index))


def _tier(beam: Sequence[Entry], decision: int, subtree: int) -> Iterator[int]:
    """For each state: flip the decision, share all of its subtree, replay all of its subtree."""
    for entry in beam:
        mask = entry[-1]
        yield mask ^ decision
        yield mask | subtree
        yield mask & ~subtree


def _flips(forest: DecisionForest, base: int, order: int) -> Iterator[int]:
    for chosen in combinations(deepest_first(forest), order):
        yield base ^ sum(1 << index for index in chosen)


def front(entries: list[Entry]) -> list[Entry]:
    """Return the least undominated entries, at most a beam of them, in order.

    One entry dominates another when no measure is greater and one is less. In beam order a later entry never
    dominates an earlier one, so the first ones that nothing kept dominates are the beam.
    """
    kept: list[Entry] = []
    for entry in sorted(entries):
        if any(_dominates(other, entry) for other in kept):
            continue
        kept.append(entry)
        if len(kept) == BEAM_WIDTH:
            break
    return kept


def _dominates(left: Entry, right: Entry) -> bool:
    return (
        left[1] <= right[1]
        and left[2] <= right[2]
        and left[3] <= right[3]
        and left[4] <= right[4]
        and left[0] <= right[0]
        and left[:5] != right[:5]
    )


def _rank(entry: Entry) -> tuple[int, int, int, int, str]:
    return entry[0], entry[1], entry[2], entry[3], entry[5]
