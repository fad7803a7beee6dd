import pytest

from planner import (
    LayoutFeatures,
    ScoringFacts,
    check_coefficients,
    hand_set_contributions,
    hand_set_work,
    score_features,
    term_contributions,
)

FEATURES = LayoutFeatures(1001, 7, 3, (1, 2, 3, 4, 5, 6, 6, 6))


def test_version_1_by_hand():
    facts = ScoringFacts(cp_size=2, tp_size=8, layers=3, gdn_layers=1, uses_gdn=True)
    work = 3 * 1001 * 1024 + 501 * 160 + 7 * 160 * 1024 + 2 * 128 * 1024 + 3 * 1024 * 768 + 3 * 1024 * 256
    assert hand_set_work(FEATURES, facts, 2) == work
    assert score_features(FEATURES, facts, None, shared_decisions=2) == (work, 1001, 7, 3)


def test_version_1_charges_levels_only_with_gdn():
    parts = hand_set_contributions(FEATURES, ScoringFacts(layers=3), 2)
    assert parts["first_level"] == parts["further_level"] == 0


def test_version_1_needs_the_shared_decisions():
    with pytest.raises(ValueError, match="shared_decisions"):
        score_features(FEATURES, ScoringFacts(), None)


def test_contributions_add_up_to_the_work(dense_table):
    facts = ScoringFacts(cp_size=4, tp_size=2, layers=32, gdn_layers=24, uses_gdn=True)
    parts = term_contributions(FEATURES, facts, dense_table)
    assert sum(parts.values()) == score_features(FEATURES, facts, dense_table)[0]
    assert set(parts) == set(dense_table)


@pytest.mark.parametrize("table", [{"token": 1}, {"token_per_rank": -1}, {"token_per_rank": 1.5}])
def test_a_table_that_cannot_score_is_refused(table):
    with pytest.raises(ValueError, match="token"):
        check_coefficients(table)


def test_a_table_maps_terms_to_integers():
    with pytest.raises(TypeError, match="coefficients map terms"):
        check_coefficients([("token_per_rank", 1)])


def test_an_unknown_term_is_named():
    with pytest.raises(ValueError, match="'warp' is no term; the terms are token_per_rank"):
        score_features(FEATURES, ScoringFacts(), {"warp": 1})
