from hypothesis import given
from hypothesis import strategies as st

from planner import _candidates as candidates
from planner import build_prefix_tree, mandatory_candidates, naive
from planner._decisions import forest_of


@given(data=st.data())
def test_family_agrees_with_the_rules_one_by_one(data, row_sets, make_rows):
    rows = make_rows(data.draw(row_sets()))
    expected = naive.mandatory_candidates(naive.prefix_tree([row.tolist() for row in rows]))
    found = mandatory_candidates(build_prefix_tree(rows))
    assert [candidate.decisions for candidate in found] == sorted(expected)
    for candidate in found:
        labels, thresholds = expected[candidate.decisions]
        assert candidate.labels == tuple(labels)
        assert candidate.span_thresholds == tuple(thresholds)
        assert candidate.layout.decisions == candidate.decisions


def test_nothing_to_share_leaves_one_candidate_with_every_name(make_rows):
    (only,) = mandatory_candidates(build_prefix_tree(make_rows([[(1, 10)], [(2, 10)]])))
    assert only.labels == (
        "no_sharing",
        "uniform_depth_0",
        "depth_one",
        "uniform_depth_1",
        "minimum_effective_span_1",
        "full_sharing",
        "savings_plateau_90",
        "savings_plateau_95",
        "savings_plateau_99",
    )
    assert only.span_thresholds == (1,)


def test_a_search_starts_from_the_whole_family_where_it_is_not_vast(make_rows):
    forest = forest_of(build_prefix_tree(make_rows([[(s, 3) for s in range(1, k + 2)] for k in range(30)])))
    assert candidates.search_family(forest).labels == candidates.mandatory_family(forest).labels


def test_a_vast_family_is_thinned_evenly(make_rows, monkeypatch):
    monkeypatch.setattr(candidates, "LARGEST_FAMILY", 100)
    monkeypatch.setattr(candidates, "THINNED", 5)
    forest = forest_of(build_prefix_tree(make_rows([[(s, s) for s in range(1, k + 2)] for k in range(30)])))
    whole, thinned = candidates.mandatory_family(forest), candidates.search_family(forest)
    assert set(thinned.labels) < set(whole.labels)
    assert {0, (1 << forest.count) - 1} < set(thinned.labels)
    depths = {label for labels in thinned.labels.values() for label in labels if label.startswith("uniform")}
    assert depths == {f"uniform_depth_{depth}" for depth in (0, 1, 8, 15, 22, 29)}


def test_thresholds_are_walked_in_parts_that_agree(make_rows, monkeypatch):
    forest = forest_of(build_prefix_tree(make_rows([[(s, s) for s in range(1, k + 2)] for k in range(30)])))
    whole = candidates.mandatory_family(forest)
    monkeypatch.setattr(candidates, "CELLS_AT_ONCE", 100)
    assert candidates.mandatory_family(forest).thresholds == whole.thresholds
