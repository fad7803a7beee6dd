import dataclasses

import pytest

from fit import FitCandidate, FitCell, selection_survival
from planner import LayoutFeatures, ScoringFacts
from schemas import InvalidInputError

TRUTH = {"token_per_rank": 2000, "gdn_level": 900_000}


def test_under_the_truth_the_lead_is_the_measured_one(make_cells):
    for cell, found in zip(
        make_cells(8, TRUTH), selection_survival(make_cells(8, TRUTH), TRUTH), strict=True
    ):
        times = sorted((c.median_ms, c.label) for c in cell.candidates)
        slower = [(ms, label) for ms, label in times if ms > times[0][0] * 1.03]
        assert found.selected == times[0][1]
        assert found.rival == slower[0][1]
        assert found.lead_pct == pytest.approx((slower[0][0] / times[0][0] - 1) * 100)
        assert found.noise_survives and found.rounding_survives


def test_a_wrong_selection_has_a_lead_over_what_is_slower_still_or_no_rival(make_cells):
    (cell,) = make_cells(1, TRUTH, candidates=3)
    upside_down = dataclasses.replace(
        cell,
        candidates=tuple(dataclasses.replace(c, median_ms=1e3 / c.median_ms) for c in cell.candidates),
    )
    (found,) = selection_survival([upside_down], TRUTH)
    assert found.rival is None
    assert found.noise_survives and found.rounding_survives


def test_noise_wider_than_the_lead_is_said(make_cells):
    (cell,) = make_cells(1, TRUTH, candidates=3)
    noisy = dataclasses.replace(
        cell, candidates=tuple(dataclasses.replace(c, spread_pct=2000.0) for c in cell.candidates)
    )
    (found,) = selection_survival([noisy], TRUTH)
    assert not found.noise_survives
    assert found.rounding_survives


def test_coefficients_of_a_few_integers_do_not_survive_rounding():
    """A hundred tokens at 2 against a level at 230: half an integer more a token turns the selection."""
    facts = ScoringFacts(layers=1, gdn_layers=1, uses_gdn=True)
    cell = FitCell(
        "cell",
        "m",
        "f",
        "tp1|cp1",
        facts,
        (
            FitCandidate("flat", LayoutFeatures(1100, 2, 1, (0,) * 8), 10.0, 5, 0.0, 0),
            FitCandidate("deep", LayoutFeatures(1000, 2, 2, (0,) * 8), 20.0, 5, 0.0, 1),
        ),
    )
    (coarse,) = selection_survival([cell], {"token_per_rank": 2, "gdn_level": 230})
    assert (coarse.selected, coarse.rival) == ("flat", "deep")
    assert coarse.lead_pct == pytest.approx(30 / 1e6 / 10.0 * 100)
    assert coarse.rounding_pct == pytest.approx(0.5 * 101 / 1e6 / 10.0 * 100)
    assert not coarse.rounding_survives
    (fine,) = selection_survival([cell], {"token_per_rank": 2000, "gdn_level": 230_000})
    assert fine.rounding_survives


def test_an_unknown_term_is_refused(make_cells):
    with pytest.raises(InvalidInputError, match="no such term"):
        selection_survival(make_cells(1, TRUTH), {"moon": 1})
