from hypothesis import given
from hypothesis import strategies as st

from planner._decisions import flags_to_masks, masks_to_flags, order_key

masks = st.integers(0, 2**20 - 1)


def indices(mask):
    return tuple(index for index in range(mask.bit_length()) if mask >> index & 1)


@given(masks, masks)
def test_order_keys_compare_as_index_tuples(left, right):
    assert (order_key(left) < order_key(right)) == (indices(left) < indices(right))


@given(st.lists(masks, min_size=1))
def test_masks_survive_the_matrix(found):
    assert flags_to_masks(masks_to_flags(found, 20)) == found
