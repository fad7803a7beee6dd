"""Packing against the definition: what every row reads off its path is the row itself."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness._pack import PackedRows, pack_rows
from planner import build_prefix_tree, mandatory_candidates, plan_layout
from schemas import InvalidInputError

ROWS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=9), min_size=1, max_size=6)


def every_packing(rows: list[list[int]]) -> list[PackedRows]:
    return [pack_rows(rows, c.layout) for c in mandatory_candidates(build_prefix_tree(rows))]


@settings(max_examples=60)
@given(ROWS)
def test_each_row_reads_its_tokens_at_its_positions_along_its_path(rows):
    for packed in every_packing(rows):
        for row, tokens in enumerate(rows):
            index = packed.row_index(row)
            assert packed.tokens[index].tolist() == tokens
            assert packed.positions[index].tolist() == list(range(len(tokens)))


@settings(max_examples=60)
@given(ROWS)
def test_targets_are_all_rows_next_tokens_counted(rows):
    for packed in every_packing(rows):
        expected = Counter(
            (int(index[at]), row[at + 1])
            for row, index in ((row, packed.row_index(r)) for r, row in enumerate(rows))
            for at in range(len(row) - 1)
        )
        found = zip(packed.target_index, packed.target_token, packed.target_count, strict=True)
        assert Counter({(int(i), int(t)): int(n) for i, t, n in found}) == expected
        assert (np.diff(packed.target_index) >= 0).all()
        assert packed.total_targets == sum(len(row) - 1 for row in rows)


@settings(max_examples=60)
@given(ROWS, st.integers(1, 4))
def test_history_is_what_any_row_of_the_segment_read_before_it(rows, width):
    for packed in every_packing(rows):
        for index, segment in enumerate(packed.segments):
            before = packed.row_index(segment.rows[0])[: segment.start][-width:].tolist()
            assert packed.history(index, width).tolist() == [-1] * (width - len(before)) + before


@settings(max_examples=60)
@given(ROWS)
def test_levels_are_contiguous_and_parents_come_first(rows):
    for packed in every_packing(rows):
        levels = [segment.level for segment in packed.segments]
        assert levels == sorted(levels)
        for index, segment in enumerate(packed.segments):
            assert segment.parent < index
            assert segment.level == (packed.segments[segment.parent].level + 1 if segment.parent >= 0 else 0)


def test_a_layout_of_other_rows_is_refused():
    layout = plan_layout(build_prefix_tree([[1, 2, 3]]), ())
    with pytest.raises(InvalidInputError, match="row 0 has 4 tokens, its layout 3"):
        pack_rows([[1, 2, 3, 4]], layout)
