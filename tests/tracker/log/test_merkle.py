"""The tree against the definition in RFC 6962, section 2.1, read literally."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.log import MerkleTree, audit_path, merkle_root, path_root
from tracker.log._merkle import FOLD

leaf_lists = st.lists(st.binary(max_size=3), max_size=40)


def naive_root(leaves: list[bytes]) -> bytes:
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return sha256(b"\x00" + leaves[0]).digest()
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return sha256(b"\x01" + naive_root(leaves[:split]) + naive_root(leaves[split:])).digest()


def naive_path(leaves: list[bytes], index: int) -> list[bytes]:
    if len(leaves) == 1:
        return []
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    if index < split:
        return [*naive_path(leaves[:split], index), naive_root(leaves[split:])]
    return [*naive_path(leaves[split:], index - split), naive_root(leaves[:split])]


@given(leaf_lists)
def test_root_is_the_recursive_one(leaves):
    assert merkle_root(leaves) == naive_root(leaves).hex()


@given(st.lists(st.lists(st.binary(max_size=1), max_size=5) | st.binary(max_size=1), max_size=12))
def test_leaves_may_come_one_by_one_or_in_numbers_and_the_root_be_asked_between(steps):
    tree, leaves = MerkleTree(), list[bytes]()
    for step in steps:
        if isinstance(step, bytes):
            tree.add(step)
            leaves.append(step)
        else:
            tree.extend(step)
            leaves += step
        assert (tree.count, tree.root()) == (len(leaves), naive_root(leaves).hex())


def test_a_tree_that_folds_by_itself_has_the_same_root():
    tree, leaves = MerkleTree(), [bytes([number % 251]) for number in range(3 * FOLD + 7)]
    for leaf in leaves:
        tree.add(leaf)
    assert (tree.count, tree.root()) == (len(leaves), naive_root(leaves).hex())
    assert len(tree._fresh) < FOLD


@given(leaf_lists.filter(bool), st.data())
def test_audit_path_is_the_recursive_one_and_leads_to_the_root(leaves, data):
    index = data.draw(st.integers(0, len(leaves) - 1))
    path = audit_path(leaves, index)
    assert [bytes.fromhex(step) for step in path] == naive_path(leaves, index)
    assert path_root(leaves[index], index, len(leaves), path) == merkle_root(leaves)


@given(st.lists(st.binary(max_size=3), min_size=2, max_size=20, unique=True), st.data())
def test_no_other_leaf_place_or_path_leads_to_the_root(leaves, data):
    index = data.draw(st.integers(0, len(leaves) - 1))
    other = data.draw(st.integers(0, len(leaves) - 1).filter(lambda place: place != index))
    path, root = audit_path(leaves, index), merkle_root(leaves)
    assert path_root(leaves[other], index, len(leaves), path) != root
    assert path_root(leaves[index], other, len(leaves), path) != root
    assert path_root(leaves[index], index, len(leaves), path[:-1]) is None
    assert path_root(leaves[index], index, len(leaves), (*path, path[0])) is None
    assert path_root(leaves[index], len(leaves), len(leaves), path) is None


def test_known_answers():
    # The test vectors of certificate-transparency's reference tree.
    leaves = [bytes.fromhex(text) for text in ("", "00", "10", "2021", "3031", "40414243")]
    assert merkle_root(leaves[:1]) == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    assert merkle_root(leaves[:3]) == "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"
    assert merkle_root(leaves) == "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"


def test_a_leaf_that_is_not_there():
    with pytest.raises(IndexError):
        audit_path([b"a"], 1)
