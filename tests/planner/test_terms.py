import pytest

from planner import TERMS, LayoutFeatures, ScoringFacts

FEATURES = LayoutFeatures(
    packed_tokens=1001, segment_count=9, max_depth=4, segments_below=(1, 2, 3, 4, 5, 6, 7, 8)
)
FACTS = ScoringFacts(cp_size=4, tp_size=2, layers=5, gdn_layers=3, uses_gdn=True)
W = 1024
BY_HAND = {
    "token_per_rank": 1001 * 5 * W // 8,
    "token_cp_exchange": 1001 * 5 * 3 * W // 4,
    "token_tp_collective": 1001 * 5 * 1 * W // 2,
    "gdn_token_per_rank": 1001 * 3 * W // 8,
    "attention_token_cp_exchange": 1001 * 2 * 3 * W // 4,
    "tiny_segment_per_layer": 4 * 5 * W,
    "level_cp_per_layer": 3 * 5 * 3 * W,
    "level_tp_per_layer": 3 * 5 * 1 * W,
    "gdn_level": 3 * 3 * W,
    "gdn_level_tp": 3 * 3 * 1 * W,
}


def test_every_term_has_a_line_here():
    assert list(BY_HAND) == list(TERMS)


@pytest.mark.parametrize("name", TERMS)
def test_term_is_its_formula(name):
    assert TERMS[name](FEATURES, FACTS) == BY_HAND[name]


def test_floor_is_taken_after_the_product():
    facts = ScoringFacts(cp_size=3, layers=1)
    assert TERMS["token_per_rank"](LayoutFeatures(1, 1, 1, (1,) * 8), facts) == 341
    assert TERMS["token_per_rank"](LayoutFeatures(2, 1, 1, (1,) * 8), facts) == 682
    assert TERMS["token_per_rank"](LayoutFeatures(3, 1, 1, (1,) * 8), facts) == 1024
