import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fit._cells import FitCandidate, FitCell, compile_cells
from fit._keys import first_least, score_keys
from fit._round import _both_ways, _real_selections, round_selections
from planner import LayoutFeatures, ScoringFacts

TERMS_USED = ("token_per_rank", "gdn_level")


def close_cell(tokens, levels):
    """Two layouts: ``tokens`` more of them against ``levels`` more levels."""
    facts = ScoringFacts(layers=1, gdn_layers=1, uses_gdn=True)
    candidates = (
        FitCandidate("flat", LayoutFeatures(1000 + tokens, 2, 1, (0,) * 8), 1.0, 5, 1.0, 0),
        FitCandidate("deep", LayoutFeatures(1000, 2, 1 + levels, (0,) * 8), 1.0, 5, 1.0, 1),
    )
    return FitCell(f"{tokens}-{levels}", "m", "f", "tp1|cp1", facts, candidates)


def test_nearest_integers_stay_where_they_select_alike(make_cells):
    truth = {"token_per_rank": 2000, "gdn_level": 700_000}
    evidence = compile_cells(make_cells(8, truth), TERMS_USED)
    assert round_selections(evidence, np.array([2.0004, 700.0006])).tolist() == [2000, 700_001]


def test_a_selection_that_the_nearest_integers_move_is_kept():
    """2.4 milli-microseconds a token round to 2, and 100 tokens then cost less than a level of 230."""
    evidence = compile_cells([close_cell(100, 1)], TERMS_USED)
    real = np.array([0.0024, 0.230])
    assert first_least(evidence, score_keys(evidence, np.array([2, 230])))[0] == 0
    found = round_selections(evidence, real)
    assert found.tolist() == [3, 230]
    assert first_least(evidence, score_keys(evidence, found))[0] == _real_selections(evidence, real)[0] == 1


def test_real_ties_break_as_the_production_score_does():
    evidence = compile_cells([close_cell(10, 1)], TERMS_USED)
    assert _real_selections(evidence, np.zeros(2))[0] == 1  # fewer tokens


coefficient = st.floats(0.0001, 0.02)
cells = st.lists(st.tuples(st.integers(1, 300), st.integers(1, 4)), min_size=1, max_size=5, unique=True).map(
    lambda rows: [close_cell(*row) for row in rows]
)


@given(cells, coefficient, st.floats(0.001, 1.0))
def test_no_rounding_up_or_down_moves_fewer_selections(cells, token, level):
    evidence = compile_cells(cells, TERMS_USED)
    real = np.array([token, level])
    wanted = _real_selections(evidence, real)

    def moved(table):
        return int((first_least(evidence, score_keys(evidence, np.asarray(table))) != wanted).sum())

    found = round_selections(evidence, real)
    assert (np.abs(found - real * 1000) < 1).all()
    assert moved(found) == min(moved(table) for table in _both_ways(real * 1000).T)


def test_both_ways_are_all_ways_and_at_most_ten_coefficients_wide():
    assert sorted(map(tuple, _both_ways(np.array([1.5, 7.0, 2.2])).T.tolist())) == [
        (1, 7, 2),
        (1, 7, 3),
        (2, 7, 2),
        (2, 7, 3),
    ]
    many = _both_ways(np.arange(1.25, 13.25))
    assert many.shape == (12, 1024)
    assert set(many[11]) == {12} and set(many[10]) == {11}
