import dataclasses
import statistics

import pytest

from fit import group_cells, judge, judge_cells, judge_groups, judge_hand_set
from fit._judge import percentile_95
from planner import score_features
from schemas import InvalidInputError

TRUTH = {"token_per_rank": 2000, "gdn_level": 700_000}
WRONG = {"token_per_rank": 1, "gdn_level": 900_000}


def timed(cell, *times, spread=1.0):
    changed = [
        dataclasses.replace(c, median_ms=ms, spread_pct=spread)
        for c, ms in zip(cell.candidates, times, strict=True)
    ]
    return dataclasses.replace(cell, candidates=tuple(changed))


def test_the_truth_has_no_regret(make_cells):
    found = judge(make_cells(10, TRUTH), TRUTH)
    assert (found.pairwise_accuracy, found.max_regret_pct, found.clear_misses) == (1.0, 0.0, ())


def test_metrics_are_those_of_the_planners_scores(make_cells):
    cells = make_cells(12, TRUTH, noise=0.2, seed=3)
    regrets = []
    for cell in cells:
        scores = [score_features(c.features, cell.facts, WRONG) for c in cell.candidates]
        times = [c.median_ms for c in cell.candidates]
        regrets.append((times[scores.index(min(scores))] - min(times)) / min(times) * 100)
    found = judge(cells, WRONG)
    assert found.max_regret_pct == max(regrets) > 0
    assert found.median_regret_pct == statistics.median(regrets)
    assert found.p95_regret_pct == sorted(regrets)[11]


def test_percentile_takes_the_place_below_the_end():
    assert percentile_95([3.0, 1.0, 2.0]) == 3.0
    assert percentile_95(list(range(100))) == 95
    assert percentile_95([7.0]) == 7.0


def test_a_clear_winner_passed_over_is_a_clear_miss(make_cells):
    (cell,) = make_cells(1, TRUTH, candidates=2)
    scores = [score_features(c.features, cell.facts, TRUTH) for c in cell.candidates]
    slow, fast = (100.0, 106.0) if scores[1] < scores[0] else (106.0, 100.0)
    clear, noisy = timed(cell, slow, fast), timed(cell, slow, fast, spread=7.0)
    assert judge([clear], TRUTH).clear_misses == (cell.key,)
    assert judge([noisy], TRUTH).clear_misses == ()
    (verdict,) = judge_cells([clear], TRUTH)
    assert verdict.regret_pct == pytest.approx(6.0)
    assert verdict.selected != verdict.best


def test_a_lone_candidate_is_no_pair_and_no_regret(make_cells):
    found = judge(make_cells(2, TRUTH, candidates=1), TRUTH)
    assert (found.ordered_pairs, found.pairwise_accuracy, found.max_regret_pct) == (0, None, 0.0)


def test_version_1_reads_the_shared_decisions(make_cells):
    (cell,) = make_cells(1, TRUTH, candidates=2)
    many = [dataclasses.replace(c, shared_decisions=10**9 * (i == 0)) for i, c in enumerate(cell.candidates)]
    cell = timed(dataclasses.replace(cell, candidates=tuple(many)), 100.0, 200.0)
    assert judge_hand_set([cell]).max_regret_pct == 100.0
    assert judge_cells([cell], None)[0].selected == "candidate_1"


def test_groups_cover_every_cell_once(make_cells):
    cells = make_cells(12, TRUTH)
    for grouping in ("model", "shape", "family"):
        groups = judge_groups(cells, WRONG, grouping)
        assert sum(found.cells for found in groups.values()) == len(cells)
        assert list(groups) == sorted(groups)
        assert groups == {n: judge(m, WRONG) for n, m in group_cells(cells, grouping).items()}


def test_what_cannot_be_judged_is_refused(make_cells):
    cells = make_cells(2, TRUTH)
    with pytest.raises(InvalidInputError, match="no grouping 'moon'"):
        judge_groups(cells, TRUTH, "moon")
    with pytest.raises(InvalidInputError, match="no_such_term"):
        judge(cells, {"no_such_term": 1})
    with pytest.raises(InvalidInputError, match="token_per_rank"):
        judge(cells, {"token_per_rank": -1})
    with pytest.raises(InvalidInputError, match="no cell"):
        judge([], TRUTH)
    with pytest.raises(InvalidInputError, match="more than once: cell-0"):
        judge([cells[0], cells[0]], TRUTH)
