from hypothesis import given
from hypothesis import strategies as st

from planner import build_prefix_tree, mandatory_candidates, naive


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
