import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import ScoringFacts, build_prefix_tree, naive, score_features
from planner._decisions import forest_of, masks_to_flags
from planner._measure import measure
from planner._price import compile_price


def batch(rows, facts, table):
    """Every layout of a small tree, priced at once, beside the integer reference."""
    tree, plain = build_prefix_tree(rows), naive.prefix_tree([row.tolist() for row in rows])
    forest, price = forest_of(tree), compile_price(facts, table)
    masks = list(range(1 << min(6, forest.count)))
    works = price.work(measure(forest, masks_to_flags(masks, forest.count), price.tiny_below))
    for mask, work in zip(masks, works.tolist(), strict=True):
        decisions = forest.decisions_of(mask)
        features = naive.layout_features(plain, decisions)
        yield work, score_features(features, facts, table, shared_decisions=len(decisions))[0]


@given(data=st.data())
def test_a_batch_has_the_integers_of_the_reference(data, row_sets, make_rows, facts_sets, tables):
    rows = make_rows(data.draw(row_sets()))
    for work, expected in batch(rows, data.draw(facts_sets), data.draw(tables)):
        assert work == expected


@pytest.mark.parametrize("coefficient", [10**12, 10**15, 2**63 - 1, 10**30])
def test_integers_past_64_bits_are_exact(coefficient, make_grpo, dense_table):
    facts = ScoringFacts(4, 2, 32, 24, True)
    for work, expected in batch(
        make_grpo(2, 2, (20, 30, 10)), facts, dense_table | {"gdn_level": coefficient}
    ):
        assert work == expected
    for work, expected in batch(make_grpo(2, 2, (20, 30, 10)), facts, {"token_per_rank": coefficient}):
        assert work == expected


def test_ordinary_tables_stay_in_int64(make_grpo, dense_table):
    forest = forest_of(build_prefix_tree(make_grpo(2, 8, (2048, 8192, 512))))
    price = compile_price(ScoringFacts(4, 1, 32, 24, True), dense_table)
    assert price.work(measure(forest, masks_to_flags([0, 7], 3), price.tiny_below)).dtype == np.int64


def test_many_layouts_are_measured_in_parts_that_agree(make_grpo, monkeypatch):
    forest = forest_of(build_prefix_tree(make_grpo(2, 3, (20, 30, 10))))
    flags = masks_to_flags(range(8), 3)
    whole = measure(forest, flags, 64)
    monkeypatch.setattr("planner._measure.CELLS_AT_ONCE", 30)
    parts = measure(forest, flags, 64)
    for name in type(whole).__dataclass_fields__:
        assert getattr(whole, name).tolist() == getattr(parts, name).tolist()
