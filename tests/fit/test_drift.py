import math
from dataclasses import replace
from random import Random
from statistics import median

import pytest

from fit import changed_selections, changed_winners, compare_times, judge_cells
from fit._cells import FitCandidate, FitCell
from fit._drift import chance_of
from fit._noise import error_freedom
from planner import LayoutFeatures, ScoringFacts
from schemas import IncompleteEvidenceError

FACTS = ScoringFacts(layers=4, gdn_layers=3, uses_gdn=True)


def candidate(label: str, times, tokens: int = 100) -> FitCandidate:
    middle = median(times)
    spread = (max(times) - min(times)) / middle * 100
    features = LayoutFeatures(tokens, 3, 2, (0, 0, 0, 0, 3, 3, 3, 3))
    return FitCandidate(label, features, middle, len(times), spread, 1)


def cell(key: str, **times) -> FitCell:
    candidates = tuple(
        candidate(label, each, 100 + place) for place, (label, each) in enumerate(times.items())
    )
    return FitCell(key, "m", "f", "tp1|cp1", FACTS, candidates)


def noisy(source: Random, ms: float, n: int = 5, sigma: float = 0.02) -> list[float]:
    return [ms * math.exp(source.gauss(0, sigma)) for _ in range(n)]


def campaign(source: Random, cells: int, scale=lambda key, label: 1.0, **options) -> list[FitCell]:
    return [
        cell(
            f"c{number:03}",
            **{
                label: noisy(source, ms * scale(f"c{number:03}", label), **options)
                for label, ms in (("no_sharing", 30.0), ("depth_one", 24.0), ("full_sharing", 20.0))
            },
        )
        for number in range(cells)
    ]


def test_equal_campaigns_are_flagged_hardly_less_and_never_more_often_than_is_said_by_chance():
    """Seeded noise, nothing moved. The standard error of a median of five is put 6% too high, so that fewer
    are flagged than announced; without Student's t it would be more."""
    found = compare_times(campaign(Random(1), 1200, sigma=0.04), campaign(Random(2), 1200, sigma=0.04))
    assert 0.5 * found.candidates_by_chance < found.candidates_moved < found.candidates_by_chance
    assert 0.4 * found.cells_by_chance < len(found.moved) < found.cells_by_chance
    normal = sum(
        math.erfc(max(3.0, move.noise_pct) / (move.noise_pct / 2) / math.sqrt(2))
        for each in found.cells
        for move in each.candidates
    )
    assert normal < found.candidates_moved
    assert abs(found.overall_pct) < 0.3


def test_less_noise_than_a_tie_flags_nothing():
    found = compare_times(campaign(Random(1), 200, sigma=0.003), campaign(Random(2), 200, sigma=0.003))
    assert (found.candidates_moved, found.moved) == (0, ())
    assert found.candidates_by_chance < 0.5


def test_a_shift_of_some_cells_is_found_and_only_there():
    shifted = {"c003", "c007"}
    after = campaign(Random(2), 20, lambda key, label: 1.3 if key in shifted else 1.0, sigma=0.005)
    found = compare_times(campaign(Random(1), 20, sigma=0.005), after)
    assert {each.cell.name for each in found.moved} == shifted
    assert all(each.cell.change_pct == pytest.approx(30, abs=2) for each in found.moved)
    assert found.candidates_moved == 6
    assert found.overall_pct == pytest.approx(0, abs=0.5)


def test_one_slower_candidate_shows_though_its_cell_hardly_moves():
    after = campaign(
        Random(2), 4, lambda key, label: 1.08 if (key, label) == ("c001", "depth_one") else 1.0, sigma=0.004
    )
    found = compare_times(campaign(Random(1), 4, sigma=0.004), after)
    assert found.moved == ()
    flagged = [(each.cell.name, move.name) for each in found.cells for move in each.candidates if move.moved]
    assert flagged == [("c001", "depth_one")]


def test_a_fall_counts_as_far_as_the_rise_that_undoes_it():
    slow, fast = cell("c", a=[10.4, 10.4, 10.4]), cell("c", a=[10.0, 10.0, 10.0])
    for before, after in ((slow, fast), (fast, slow)):
        (each,) = compare_times([before], [after]).cells
        assert each.cell.moved
    assert not compare_times([cell("c", a=[10.29] * 3)], [fast]).cells[0].cell.moved


def test_one_sample_tells_no_noise_so_it_never_moves():
    (each,) = compare_times([cell("c", a=[10.0])], [cell("c", a=[30.0, 31.0])]).cells
    assert (each.cell.moved, each.cell.noise_pct, each.cell.chance) == (False, math.inf, 0.0)


def test_other_layouts_under_the_same_label_are_not_compared():
    before = cell("c", a=[10.0, 10.1], b=[12.0, 12.1])
    changed = replace(
        before.candidates[1], features=replace(before.candidates[1].features, packed_tokens=999)
    )
    after = replace(before, candidates=(before.candidates[0], changed))
    (each,) = compare_times([before], [after]).cells
    assert [move.name for move in each.candidates] == ["a"]
    assert each.unmatched == ("b",)


def test_nothing_in_common_is_said():
    with pytest.raises(IncompleteEvidenceError, match="in common"):
        compare_times([cell("a", x=[1.0])], [cell("b", x=[1.0])])


def test_winners_that_changed_say_what_staying_costs():
    before = [cell("c", a=[10.0, 10.1, 9.9], b=[12.0, 12.1, 11.9]), cell("d", a=[1.0, 1.01], b=[2.0, 2.01])]
    after = [cell("c", a=[15.0, 15.1, 14.9], b=[12.0, 12.1, 11.9]), cell("d", a=[1.0, 1.01], b=[2.0, 2.01])]
    (change,) = changed_winners(before, after)
    assert (change.key, change.before, change.after) == ("c", "a", "b")
    assert change.cost_pct == pytest.approx(25)
    assert change.beyond_noise


def test_a_winner_that_changed_within_noise_is_a_tie():
    before = [cell("c", a=[10.0, 10.1], b=[10.1, 10.2])]
    after = [cell("c", a=[10.2, 10.3], b=[10.0, 10.1])]
    (change,) = changed_winners(before, after)
    assert not change.beyond_noise


def test_two_tables_disagree_where_their_selections_do():
    cells = [cell("c", few_tokens=[10.0, 10.1], more_tokens=[9.0, 9.1])]
    flat, steep = {"gdn_level": 1}, {"token_per_rank": 1000}
    assert changed_selections(cells, steep, steep) == ()
    deep = replace(
        cells[0].candidates[0],
        features=replace(cells[0].candidates[0].features, max_depth=9),
        shared_decisions=9,
    )
    cells = [replace(cells[0], candidates=(deep, cells[0].candidates[1]))]
    taken = [judge_cells(cells, table)[0].selected for table in (steep, flat)]
    (change,) = changed_selections(cells, steep, flat)
    assert [change.before, change.after] == taken == ["few_tokens", "more_tokens"]
    assert changed_selections(cells, None, None) == ()


def test_degrees_of_freedom_are_those_of_the_tables():
    """Patnaik's equivalent degrees of freedom of the range of one sample of n."""
    known = {3: 1.98, 4: 2.93, 5: 3.83, 6: 4.68, 7: 5.48, 8: 6.25, 9: 6.98, 10: 7.68}
    assert {n: error_freedom(n) for n in known} == pytest.approx(known, abs=0.1)


def test_chance_is_that_of_student_and_of_none_where_nothing_is_known():
    assert chance_of(10.0, 5.0) == pytest.approx(0.1019, abs=1e-3)  # P(|t| > 2) with 5 degrees of freedom
    assert chance_of(0.3, 1e9) == pytest.approx(0, abs=1e-12)  # 3% are ten standard errors
    assert chance_of(math.inf, 5.0) == chance_of(0.0, 5.0) == chance_of(5.0, 0.0) == 0.0
