"""The published procedure on the published evidence: the same integers, the same metrics."""

import pytest

from fit import fit_table, judge, judge_hand_set
from schemas import FitArguments


@pytest.fixture(scope="module")
def fitted(h200, h200_training):
    arguments = FitArguments(method="nnls-regret", terms=tuple(h200["fit_arguments"]["terms"]))
    return fit_table(h200_training, arguments)


def test_cells_split_as_published(h200_training, h200_holdout):
    assert (len(h200_training), len(h200_holdout)) == (45, 13)


def test_integers_and_digest_are_the_published_ones(h200, fitted):
    assert fitted.coefficients == h200["integer_table_milli_us"]
    assert fitted.digest == h200["integer_table_sha256"]


def test_metrics_are_the_published_ones(h200, fitted, h200_cells, h200_training, h200_holdout):
    for name, cells in (("integer_all", h200_cells), ("train", h200_training), ("test", h200_holdout)):
        found = judge(cells, fitted.coefficients).plain()
        for field, value in h200["metrics"][name].items():
            expected = pytest.approx(value, abs=1e-9) if isinstance(value, float) else value
            assert found[field] == expected, (name, field)


def test_version_1_on_the_same_cells(h200_cells):
    found = judge_hand_set(h200_cells)
    assert found.ordered_pairs == 3849
    assert found.pairwise_accuracy == pytest.approx(0.7857, abs=5e-5)
    assert found.p95_regret_pct == pytest.approx(23.01, abs=5e-3)
    assert found.max_regret_pct == pytest.approx(67.46, abs=5e-3)


def test_terms_in_another_order_give_the_same_table(h200, h200_training, fitted):
    backwards = tuple(reversed(h200["fit_arguments"]["terms"]))
    found = fit_table(h200_training, FitArguments(method="nnls-regret", terms=backwards))
    assert found.coefficients == fitted.coefficients
