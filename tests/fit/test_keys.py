import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fit._cells import FitCandidate, FitCell, compile_cells
from fit._keys import first_least, score_keys, table_keys, trial_keys
from planner import TERMS, LayoutFeatures, ScoringFacts, score_features

features = st.builds(
    LayoutFeatures,
    packed_tokens=st.integers(1, 10**6),
    segment_count=st.integers(1, 30),
    max_depth=st.integers(1, 5),
    segments_below=st.lists(st.integers(0, 30), min_size=8, max_size=8).map(lambda v: tuple(sorted(v))),
)
facts = st.builds(
    lambda cp, tp, gdn, more: ScoringFacts(cp, tp, gdn + more, gdn, gdn > 0),
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(0, 30),
    st.integers(1, 30),
)
small = st.dictionaries(st.sampled_from(sorted(TERMS)), st.integers(0, 5), min_size=1)
usual = st.dictionaries(st.sampled_from(sorted(TERMS)), st.integers(0, 10**7), min_size=1)
huge = st.dictionaries(st.sampled_from(sorted(TERMS)), st.integers(0, 10**22), min_size=1)


def cell_of(number, facts, layouts):
    candidates = tuple(
        FitCandidate(f"c{i}", layout, 1.0 + i, 5, 1.0, layout.segment_count)
        for i, layout in enumerate(layouts)
    )
    return FitCell(f"cell-{number}", "m", "f", "tp1|cp1", facts, candidates)


cells = st.lists(st.tuples(facts, st.lists(features, min_size=1, max_size=5)), min_size=1, max_size=4).map(
    lambda rows: [cell_of(number, *row) for number, row in enumerate(rows)]
)


def naive_scores(cell, table):
    return [
        score_features(c.features, cell.facts, table, shared_decisions=c.shared_decisions)
        for c in cell.candidates
    ]


@given(cells, small | usual | huge | st.none())
def test_keys_compare_as_the_production_scores_do(cells, table):
    evidence = compile_cells(cells, tuple(table or TERMS))
    keys = table_keys(evidence, table)
    for start, cell in zip(evidence.starts, cells, strict=True):
        scores = naive_scores(cell, table)
        found = keys[start : start + len(scores)]
        for i, left in enumerate(scores):
            for j, right in enumerate(scores):
                assert (found[i] < found[j]) == (left < right)


@given(cells, small | usual | huge)
def test_selection_is_the_first_of_the_least_score(cells, table):
    evidence = compile_cells(cells, tuple(table))
    chosen = first_least(evidence, table_keys(evidence, table)) - evidence.starts
    for place, cell in zip(chosen, cells, strict=True):
        scores = naive_scores(cell, table)
        assert place == scores.index(min(scores))


@given(cells, st.lists(st.integers(0, 10**16), min_size=1, max_size=4))
def test_trials_are_whole_tables_with_one_coefficient_replaced(cells, trials):
    evidence = compile_cells(cells, ("token_per_rank", "tiny_segment_per_layer", "gdn_level"))
    table = np.array([2002, 219_288, 3_336_555])
    found = trial_keys(evidence, table, 1, np.array(trials))
    for column, trial in enumerate(trials):
        expected = score_keys(evidence, np.array([2002, trial, 3_336_555]))
        assert [int(v) for v in found[:, column]] == [int(v) for v in expected]


def test_many_tables_at_once_are_each_table_alone(make_cells):
    cells = make_cells(5, {"token_per_rank": 2000, "gdn_level": 90_000})
    evidence = compile_cells(cells, ("token_per_rank", "gdn_level"))
    rng = random.Random(1)
    tables = np.array([[rng.randrange(9999) for _ in range(7)] for _ in range(2)])
    together = score_keys(evidence, tables)
    for column in range(7):
        assert (together[:, column] == score_keys(evidence, tables[:, column])).all()


def test_values_beyond_63_bits_stay_exact():
    layouts = [LayoutFeatures(10**12 + extra, 3, 2, (0,) * 8) for extra in (1, 0, 2)]
    cell = cell_of(0, ScoringFacts(1, 1, 10**6, 0, False), layouts)
    evidence = compile_cells([cell], ("token_per_rank",))
    keys = table_keys(evidence, {"token_per_rank": 10**9})
    assert [int(k) for k in np.argsort(keys.astype(object))] == [1, 0, 2]
    assert first_least(evidence, keys)[0] == 1


@pytest.mark.parametrize("extreme", [2**53 - 1, 2**53, 2**62])
def test_the_switch_to_python_integers_loses_no_order(extreme):
    layouts = [LayoutFeatures(3 + extra, 3, 2, (0,) * 8) for extra in (0, 1)]
    cell = cell_of(0, ScoringFacts(1, 1, 3, 0, False), layouts)
    evidence = compile_cells([cell], ("token_per_rank", "gdn_level"))
    keys = table_keys(evidence, {"token_per_rank": extreme, "gdn_level": extreme})
    assert keys[0] < keys[1]
