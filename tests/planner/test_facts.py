import numpy as np
import pytest

from planner import SEGMENT_THRESHOLDS, LayoutFeatures, ScoringFacts
from schemas import CellFacts


@pytest.mark.parametrize(
    ("length", "index"), [(1, 0), (64, 0), (65, 1), (128, 1), (512, 3), (8192, 7), (8193, 7), (10**9, 7)]
)
def test_below_reads_the_first_threshold_that_is_no_less(length, index):
    features = LayoutFeatures(0, 0, 1, tuple(range(100, 100 + len(SEGMENT_THRESHOLDS))))
    assert features.below(length) == 100 + index


def test_levels_are_those_past_the_first():
    assert [LayoutFeatures(1, 1, depth, (0,) * 8).levels for depth in (1, 2, 5)] == [0, 1, 4]


def test_the_facts_of_a_cell_are_all_taken_over():
    cell = CellFacts(tp=2, cp=3, ep=4, etp=5, layers=7, gdn_layers=6, uses_gdn=True)
    assert ScoringFacts.of_cell(cell) == ScoringFacts(
        cp_size=3, tp_size=2, layers=7, gdn_layers=6, uses_gdn=True, ep_size=4, etp_size=5
    )


@pytest.mark.parametrize(
    "wrong",
    [{"cp_size": 0}, {"tp_size": 0}, {"layers": 0}, {"gdn_layers": -1}, {"layers": 2, "gdn_layers": 3}],
)
def test_impossible_facts_are_refused(wrong):
    with pytest.raises(ValueError, match=list(wrong)[-1]):
        ScoringFacts(**wrong)


@pytest.mark.parametrize("name", ["cp_size", "tp_size", "layers", "gdn_layers", "ep_size", "etp_size"])
def test_a_size_that_is_no_integer_is_refused_and_an_arrays_integer_is_made_exact(name: str) -> None:
    for wrong in (1.0, "1", None):
        with pytest.raises(TypeError, match=name):
            ScoringFacts(**{"layers": 2, name: wrong})
    facts = ScoringFacts(**{"layers": 2, name: np.int64(1)})
    assert type(getattr(facts, name)) is int
