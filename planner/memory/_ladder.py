"""The ways of splitting a batch, from one forward to one a row; sizes of their parts without planning them.

Rows are taken in the order of the prefix tree, so that rows with a common prefix lie together; a rung cuts
that order into runs of nearly equal numbers of rows. The cuts depend on the tree's shape and never on how
many tokens a segment has: a batch that grows in place is split in the same places.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from planner._tree import PrefixTree
from planner.memory._integers import ceil_div
from planner.memory._pricing import Pricing
from planner.memory._profile import ForwardSize

Run = tuple[int, int]


class TreeOrder:
    """A batch's rows in tree order, and the size under full sharing of any run of them, in constant time.

    Args:
        tree: the batch's prefix tree.
        outputs: predictions handed back, by row in caller order; none where omitted.

    Raises:
        ValueError: outputs for another number of rows.
    """

    def __init__(self, tree: PrefixTree, outputs: Sequence[int] | None = None) -> None:
        if outputs is not None and len(outputs) != tree.row_count:
            raise ValueError(f"outputs are given for {len(outputs)} rows, the batch has {tree.row_count}")
        self.rows = sorted(range(tree.row_count), key=tree.row_nodes.__getitem__)
        lengths = [tree.row_lengths[row] for row in self.rows]
        self.most_tokens = max(lengths)
        self.most_outputs = max(outputs or (0,))
        self._lengths = _sums(lengths)
        self._outputs = _sums([outputs[row] for row in self.rows] if outputs else [0] * len(self.rows))
        nodes = [tree.row_nodes[row] for row in self.rows]
        self._common = _sums([0, *(_common_tokens(tree, left, right) for left, right in pairwise(nodes))])

    def __len__(self) -> int:
        return len(self.rows)

    def size(self, run: Run) -> ForwardSize:
        """The run's rows with every common prefix computed once: the least packed tokens of any layout."""
        first, last = run
        logical = self._lengths[last] - self._lengths[first]
        # In tree order the tokens that a row has in common with any earlier one, it has with its neighbour.
        common = self._common[last] - self._common[first + 1]
        return ForwardSize(logical - common, logical, self._outputs[last] - self._outputs[first])


def ladder(rows: int) -> Iterator[int]:
    """Numbers of subforwards to try, ascending: 1, 2, 3, 4, 6, 8, 12, ... and one a row."""
    count = 1
    while count < rows:
        yield count
        if 2 < count * 3 // 2 < rows:
            yield count * 3 // 2
        count *= 2
    yield rows


def cut(rows: int, count: int) -> list[Run]:
    """Cut so many rows into runs whose numbers of rows differ by one at most, longer ones first."""
    each, more = divmod(rows, count)
    ends = accumulate((each + (part < more) for part in range(count)), initial=0)
    return list(pairwise(ends))


def lower_bound_bytes(order: TreeOrder, count: int, pricing: Pricing) -> int:
    """A peak that no split into so many subforwards stays below, without looking at any part.

    Some part has the longest row, and at least its even share of packed tokens, of logical tokens and of
    outputs; the estimate is the largest of what each of these asks for, so the parts need not be the same.
    """
    whole = order.size((0, len(order)))
    return pricing.required_bytes(
        ForwardSize(
            max(ceil_div(whole.packed_tokens, count), order.most_tokens),
            max(ceil_div(whole.logical_tokens, count), order.most_tokens),
            max(ceil_div(whole.outputs, count), order.most_outputs),
        )
    )


def _sums(values: Sequence[int]) -> list[int]:
    return list(accumulate(values, initial=0))


def _common_tokens(tree: PrefixTree, left: int, right: int) -> int:
    """Tokens from the start up to where the paths of two tree segments part."""
    while left != right:
        # Parents have smaller numbers than their children: the larger one is never an ancestor.
        if left > right:
            left = tree.parents[left]
        else:
            right = tree.parents[right]
    return tree.ends[left] if left >= 0 else 0
