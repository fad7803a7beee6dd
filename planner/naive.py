"""Plain references for the fast algorithms, written from the rules (design, section 6); for tests.

Slow on purpose: token by token, set by set, no masks and no arrays.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

from planner._facts import SEGMENT_THRESHOLDS, LayoutFeatures, ScoringFacts
from planner._score import Coefficients, score_features

Decisions = tuple[int, ...]
Rank = tuple[int, int, int, int, Decisions]


@dataclass(frozen=True)
class Node:
    """A segment of the tree."""

    parent: int | None
    start: int
    end: int
    depth: int
    rows: tuple[int, ...]


@dataclass(frozen=True)
class Tree:
    """The segments, and the rows that they were made of."""

    nodes: tuple[Node, ...]
    lengths: tuple[int, ...]

    @property
    def decisions(self) -> Decisions:
        """Ascending indices of the nodes of two or more rows."""
        return tuple(index for index, node in enumerate(self.nodes) if len(node.rows) > 1)

    def path(self, index: int | None) -> list[int]:
        """The node and its ancestors, from the root down."""
        found: list[int] = []
        while index is not None:
            found.insert(0, index)
            index = self.nodes[index].parent
        return found

    def last_node(self, row: int) -> int:
        """The node that a row ends in."""
        return max(index for index, node in enumerate(self.nodes) if row in node.rows)


def prefix_tree(rows: Sequence[Sequence[int]]) -> Tree:
    """Build the tree token by token."""
    nodes: list[Node] = []
    pending: list[tuple[int | None, int, list[int]]] = [(None, 0, list(range(len(rows))))]
    while pending:
        parent, start, group = pending.pop()
        groups: dict[int, list[int]] = {}
        for row in group:
            groups.setdefault(rows[row][start], []).append(row)
        if len(groups) > 1:
            pending.extend((parent, start, same) for same in reversed(groups.values()))
            continue
        end = start
        while all(len(rows[row]) > end and rows[row][end] == rows[group[0]][end] for row in group):
            end += 1
        depth = 1 if parent is None else nodes[parent].depth + 1
        nodes.append(Node(parent, start, end, depth, tuple(group)))
        going_on = [row for row in group if len(rows[row]) > end]
        if going_on:
            pending.append((len(nodes) - 1, end, going_on))
    return Tree(tuple(nodes), tuple(len(row) for row in rows))


def segment_lengths(tree: Tree, decisions: Iterable[int]) -> tuple[list[int], int]:
    """Lengths of a layout's physical segments, and its levels."""
    shared = set(decisions)
    pieces: list[int] = []
    for index in sorted(shared):
        above = [node for node in tree.path(tree.nodes[index].parent) if node in shared]
        pieces.append(tree.nodes[index].end - (tree.nodes[above[-1]].end if above else 0))
    levels = 1
    for row, length in enumerate(tree.lengths):
        above = [node for node in tree.path(tree.last_node(row)) if node in shared]
        tail = length - (tree.nodes[above[-1]].end if above else 0)
        if tail:
            pieces.append(tail)
        levels = max(levels, len(above) + (tail > 0))
    return pieces, levels


def layout_features(tree: Tree, decisions: Iterable[int]) -> LayoutFeatures:
    """Features of a layout, by listing its segments."""
    pieces, levels = segment_lengths(tree, decisions)
    below = tuple(sum(piece < bound for piece in pieces) for bound in SEGMENT_THRESHOLDS)
    return LayoutFeatures(sum(pieces), len(pieces), levels, below)


def mandatory_candidates(tree: Tree) -> dict[Decisions, tuple[list[str], list[int]]]:
    """Labels and span thresholds by decisions, in order of arising."""
    family: dict[Decisions, tuple[list[str], list[int]]] = {}

    def add(decisions: Iterable[int], label: str, *thresholds: int) -> None:
        labels, spans = family.setdefault(tuple(sorted(decisions)), ([], []))
        labels.append(label)
        spans.extend(thresholds)

    nodes, decisions = tree.nodes, tree.decisions
    add((), "no_sharing")
    add((), "uniform_depth_0")
    for depth in range(1, max([1, *(nodes[index].depth for index in decisions)]) + 1):
        level = [index for index in decisions if nodes[index].depth <= depth]
        if depth == 1:
            add(level, "depth_one")
        add(level, f"uniform_depth_{depth}")
    for threshold in _thresholds(tree):
        add(_spanning(tree, threshold), f"minimum_effective_span_{threshold}", threshold)
    add(decisions, "full_sharing")
    for percent in (90, 95, 99):
        add(_plateau(tree, list(family), percent), f"savings_plateau_{percent}")
    return family


def _thresholds(tree: Tree) -> list[int]:
    found = {1}
    for index in tree.decisions:
        end = tree.nodes[index].end
        found.add(end + 1)
        found.update(end - tree.nodes[above].end + 1 for above in tree.path(index)[:-1])
    return sorted(found)


def _spanning(tree: Tree, threshold: int) -> list[int]:
    shared: list[int] = []
    for index in tree.decisions:
        above = [node for node in tree.path(index) if node in shared]
        if tree.nodes[index].end - (tree.nodes[above[-1]].end if above else 0) >= threshold:
            shared.append(index)
    return shared


def _plateau(tree: Tree, sets: list[Decisions], percent: int) -> Decisions:
    packed = {decisions: layout_features(tree, decisions) for decisions in sets}
    most = sum(tree.lengths) - packed[tree.decisions].packed_tokens
    reached = [
        decisions
        for decisions in sets
        if (sum(tree.lengths) - packed[decisions].packed_tokens) * 100 >= percent * most
    ]
    return min(
        reached,
        key=lambda found: (
            len(found),
            packed[found].max_depth,
            packed[found].segment_count,
            packed[found].packed_tokens,
            found,
        ),
    )


def ranker(tree: Tree, facts: ScoringFacts, coefficients: Coefficients | None) -> Callable[[Decisions], Rank]:
    """What selections minimise: the score, then the decisions."""

    def rank(decisions: Decisions) -> Rank:
        features = layout_features(tree, decisions)
        score = score_features(features, facts, coefficients, shared_decisions=len(decisions))
        return (*score, decisions)

    return rank


def all_sets(decisions: Sequence[int]) -> Iterator[Decisions]:
    """Every set of decisions."""
    return chain.from_iterable(combinations(decisions, size) for size in range(len(decisions) + 1))


def exhaustive_search(tree: Tree, facts: ScoringFacts, coefficients: Coefficients | None) -> Rank:
    """The cheapest of all layouts."""
    return min(map(ranker(tree, facts, coefficients), all_sets(tree.decisions)))


def bounded_search(tree: Tree, facts: ScoringFacts, coefficients: Coefficients | None, budget: int) -> Rank:
    """The bounded search, one proposal after the other."""
    return _BoundedSearch(tree, ranker(tree, facts, coefficients), budget).run()


class _BoundedSearch:
    def __init__(self, tree: Tree, rank: Callable[[Decisions], Rank], budget: int) -> None:
        self.tree, self.rank, self.budget = tree, rank, budget
        self.seen: dict[Decisions, Rank] = {}
        self.best: Rank | None = None

    def enter(self, decisions: Decisions) -> Rank:
        found = self.seen[decisions] = self.rank(decisions)
        if self.best is None or found < self.best:
            self.best = found
        return found

    def propose(self, decisions: Iterable[int]) -> list[Rank]:
        """Pay for a proposal; returns it if it is new."""
        self.budget -= 1
        key = tuple(sorted(decisions))
        return [] if key in self.seen else [self.enter(key)]

    def run(self) -> Rank:
        beam = _pareto([self.enter(decisions) for decisions in mandatory_candidates(self.tree)])
        order = sorted(self.tree.decisions, key=lambda index: (-self.tree.nodes[index].depth, index))
        for decision in order:
            tier: list[Rank] = []
            below = {index for index in self.tree.decisions if decision in self.tree.path(index)}
            for *_, shared in beam:
                for proposal in (set(shared) ^ {decision}, set(shared) | below, set(shared) - below):
                    if not self.budget:
                        assert self.best is not None
                        return self.best
                    tier += self.propose(proposal)
            beam = _pareto(beam + tier)
        assert self.best is not None
        for size in range(1, min(4, len(order)) + 1):
            base = set(self.best[-1])
            for flips in combinations(order, size):
                if not self.budget:
                    return self.best
                self.propose(base ^ set(flips))
        return self.best


def _vector(found: Rank) -> tuple[int, ...]:
    work, packed, segments, depth, decisions = found
    return work, packed, segments, depth, packed, segments, len(decisions), depth


def _dominates(left: Rank, right: Rank) -> bool:
    pairs = list(zip(_vector(left), _vector(right), strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def _pareto(states: list[Rank]) -> list[Rank]:
    kept: list[Rank] = []
    for state in sorted(states, key=lambda found: (_vector(found), found[-1])):
        if any(_dominates(other, state) for other in kept):
            continue
        kept = [other for other in kept if not _dominates(state, other)]
        kept = sorted([*kept, state], key=lambda found: (_vector(found), found[-1]))[:16]
    return kept
