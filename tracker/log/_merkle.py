"""RFC 6962 Merkle trees: root, audit path, check; leaves are hashed after a 0x00, nodes after a 0x01."""

from collections.abc import Iterable, Sequence
from hashlib import sha256

EMPTY_ROOT = sha256(b"").hexdigest()
FOLD = 256
"""Leaf hashes that wait to be folded into the tree."""


def leaf_hash(leaf: bytes) -> bytes:
    """Hash of a leaf's bytes, 32 bytes."""
    return sha256(b"\x00" + leaf).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


class MerkleTree:
    """The root over leaves that come one by one; memory is logarithmic in their number."""

    __slots__ = ("_folded", "_fresh", "_peaks")

    def __init__(self) -> None:
        # `_peaks` are the complete subtrees over the first `_folded` leaves, the largest first; `_fresh` the
        # hashes of the leaves since, folded in by the hundred, which costs half as much as one by one.
        self._folded = 0
        self._peaks: list[bytes] = []
        self._fresh: list[bytes] = []

    @property
    def count(self) -> int:
        """Leaves so far."""
        return self._folded + len(self._fresh)

    def add(self, leaf: bytes) -> None:
        """Take in the next leaf."""
        self._fresh.append(sha256(b"\x00" + leaf).digest())
        if len(self._fresh) >= FOLD:
            self._fold()

    def extend(self, leaves: Iterable[bytes]) -> None:
        """Take in the next leaves."""
        self._fresh += [sha256(b"\x00" + leaf).digest() for leaf in leaves]
        if len(self._fresh) >= FOLD:
            self._fold()

    def root(self) -> str:
        """The root as 64 hexadecimal digits; of no leaves, the hash of nothing."""
        self._fold()
        if not self._peaks:
            return EMPTY_ROOT
        node = self._peaks[-1]
        for left in reversed(self._peaks[:-1]):
            node = _node(left, node)
        return node.hex()

    def _fold(self) -> None:
        """Level by level: that level's peak comes before the new nodes; a last one without a pair stays."""
        level, nodes, peaks = self._folded, self._fresh, list[bytes]()
        self._folded += len(nodes)
        while nodes:
            if level & 1:
                nodes.insert(0, self._peaks.pop())
            if len(nodes) & 1:
                peaks.append(nodes.pop())
            pairs = iter(nodes)
            nodes = [
                sha256(b"\x01" + left + right).digest() for left, right in zip(pairs, pairs, strict=True)
            ]
            level >>= 1
        self._peaks += reversed(peaks)
        self._fresh = []


def merkle_root(leaves: Sequence[bytes]) -> str:
    """The root over all leaves."""
    tree = MerkleTree()
    tree.extend(leaves)
    return tree.root()


def audit_path(leaves: Sequence[bytes], index: int) -> tuple[str, ...]:
    """The sibling hashes that lead from leaf `index` to the root, leaf end first.

    Raises:
        IndexError: there is no such leaf.

    """
    if not 0 <= index < len(leaves):
        raise IndexError(f"leaf {index} of {len(leaves)}")
    path: list[str] = []
    level = [leaf_hash(leaf) for leaf in leaves]
    while len(level) > 1:
        sibling = index ^ 1
        # A last node without a sibling goes up as it is (RFC 6962 splits at the largest power of two).
        if sibling < len(level):
            path.append(level[sibling].hex())
        pairs = [_node(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
        level = pairs + level[len(pairs) * 2 :]
        index >>= 1
    return tuple(path)


def path_root(leaf: bytes, index: int, count: int, path: Sequence[str]) -> str | None:
    """The root that an audit path leads to, or None when the path cannot belong to that place."""
    if not 0 <= index < count:
        return None
    node, last, steps = leaf_hash(leaf), count - 1, list(path)
    while last:
        if index & 1 or index < last:
            if not steps:
                return None
            sibling = bytes.fromhex(steps.pop(0))
            node = _node(sibling, node) if index & 1 else _node(node, sibling)
        index >>= 1
        last >>= 1
    return None if steps else node.hex()
