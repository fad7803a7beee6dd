import dataclasses

import pytest

from fit import gate_verdicts, qualify
from planner import score_features
from schemas import Gates, IncompleteEvidenceError

TRUTH = {"token_per_rank": 2000, "gdn_level": 700_000}
UPSIDE_DOWN = {"tiny_segment_per_layer": 1}


def by_gate(verdicts, group="pooled"):
    return {v.gate: v for v in verdicts if v.group == group}


def two_timed(make_cells, regret, spread):
    """A cell of two candidates whose selected one is ``regret`` percent slower."""
    (cell,) = make_cells(1, TRUTH, candidates=2)
    scores = [score_features(c.features, cell.facts, TRUTH) for c in cell.candidates]
    times = [100.0, 100.0 + regret] if scores[1] < scores[0] else [100.0 + regret, 100.0]
    changed = [
        dataclasses.replace(c, median_ms=t, spread_pct=spread)
        for c, t in zip(cell.candidates, times, strict=True)
    ]
    return dataclasses.replace(cell, candidates=tuple(changed))


def test_the_truth_passes_every_gate(make_cells):
    verdicts = gate_verdicts(make_cells(12, TRUTH), TRUTH, Gates())
    assert all(v.passed for v in verdicts)
    assert by_gate(verdicts)["pairwise"].value == 100.0
    assert by_gate(verdicts)["regret-max"].value == 0.0


def test_a_wrong_table_fails_by_name(make_cells):
    verdicts = gate_verdicts(make_cells(12, TRUTH), UPSIDE_DOWN, Gates())
    failed = {v.gate for v in verdicts if v.group == "pooled" and not v.passed}
    assert {"pairwise", "regret-p95", "regret-max", "clear-winner"} <= failed


def test_groups_are_models_shapes_and_families(make_cells):
    cells = make_cells(12, TRUTH)
    groups = {v.group for v in gate_verdicts(cells, TRUTH, Gates())}
    expected = {f"model={c.model}" for c in cells} | {f"shape={c.shape}" for c in cells}
    assert groups == {"pooled"} | expected | {f"family={c.family}" for c in cells}


def test_a_group_without_holdout_says_so_and_passes(make_cells):
    cells = make_cells(12, TRUTH)
    held = [c for c in cells if c.family == "family-1"]
    verdicts = gate_verdicts(held, TRUTH, Gates(), retained=cells)
    absent = by_gate(verdicts, "family=family-2")
    assert all(v.value is None and v.passed and "no held-out cell" in v.detail for v in absent.values())


def test_no_holdout_at_all_is_refused():
    with pytest.raises(IncompleteEvidenceError, match="register a holdout"):
        gate_verdicts([], TRUTH, Gates())


def test_a_pair_within_its_noise_does_not_count(make_cells):
    assert qualify([two_timed(make_cells, 8.0, spread=1.0)], TRUTH, 3.0).pairs == 1
    assert qualify([two_timed(make_cells, 8.0, spread=30.0)], TRUTH, 3.0).pairs == 0


def test_a_regret_within_the_noise_is_a_tie(make_cells):
    quiet = qualify([two_timed(make_cells, 8.0, spread=1.0)], TRUTH, 3.0)
    assert quiet.regrets == quiet.clear_regrets == pytest.approx((8.0,))
    noisy = qualify([two_timed(make_cells, 8.0, spread=30.0)], TRUTH, 3.0)
    assert (noisy.regrets, noisy.clear_regrets) == ((0.0,), ())


def test_a_small_regret_beyond_noise_stays(make_cells):
    found = qualify([two_timed(make_cells, 1.5, spread=0.1)], TRUTH, 3.0)
    assert found.regrets == pytest.approx((1.5,))
    assert (found.pairs, found.clear_regrets) == (0, ())


def test_nothing_beyond_noise_shows_nothing(make_cells):
    verdicts = gate_verdicts([two_timed(make_cells, 8.0, spread=30.0)], TRUTH, Gates())
    assert not by_gate(verdicts)["pairwise"].passed
    assert by_gate(verdicts, "family=family-0")["pairwise"].passed


def test_limits_are_inclusive(make_cells):
    cell = two_timed(make_cells, 8.0, spread=0.1)
    value = by_gate(gate_verdicts([cell], TRUTH, Gates()))["regret-max"].value
    assert by_gate(gate_verdicts([cell], TRUTH, Gates(regret_max_pct=value)))["regret-max"].passed
