import pytest

from schemas import IncompleteEvidenceError, InvalidInputError, NotFoundError
from tracker._fitting import fit_cells
from tracker.drift import compare_campaigns


def test_the_same_truth_measured_again_has_not_moved(ledger):
    found = compare_campaigns(ledger, "known", "again")
    assert found.times.moved == ()
    assert found.times.overall_pct == pytest.approx(0)
    assert (found.fingerprints, found.winners, found.selections, found.unfitted) == ((), (), (), "")


def test_what_a_change_does_to_times_winners_and_fitted_selections_is_known(ledger):
    found = compare_campaigns(ledger, "known", "later")
    old, new = (
        {cell.key: {c.label: c.median_ms for c in cell.candidates} for cell in fit_cells(cells)}
        for cells in (ledger.certified_cells("known"), ledger.certified_cells("later"))
    )
    for each in found.times.cells:
        key = each.cell.name
        assert {move.name: move.change_pct for move in each.candidates} == pytest.approx(
            {label: (ms / old[key][label] - 1) * 100 for label, ms in new[key].items()}
        )
    assert {each.cell.name for each in found.times.moved} == set(old)
    fastest = [{key: min(times, key=times.__getitem__) for key, times in side.items()} for side in (old, new)]
    changed = {key for key in old if fastest[0][key] != fastest[1][key]}
    assert {change.key for change in found.winners} == changed != set()
    # The evidence is the truth of a table, so tables fitted on it select what was fastest.
    assert found.selections == found.winners


def test_the_fingerprints_that_differ_are_named_with_their_cells(ledger):
    (change,) = compare_campaigns(ledger, "known", "later").fingerprints
    assert (change.part, change.before, change.after) == ("source", "s" * 64, "new driver")
    assert set(change.cells) == set(ledger.manifest("later").keys)


def test_cells_of_one_side_only_are_listed(ledger):
    found = compare_campaigns(ledger, "known", "narrow")
    assert [key.split("|")[0] for key in found.only_before] == ["chain-a", "held-grpo"]
    assert found.only_after == ()
    back = compare_campaigns(ledger, "narrow", "known")
    assert (back.only_before, back.only_after) == ((), found.only_before)


def test_without_training_cells_in_common_it_is_said_that_no_tables_are_compared(ledger):
    found = compare_campaigns(ledger, "known", "held")
    assert found.selections is None
    assert "no training cell" in found.unfitted


def test_nothing_to_compare_is_said(ledger):
    with pytest.raises(InvalidInputError, match="twice"):
        compare_campaigns(ledger, "known", "known")
    with pytest.raises(NotFoundError):
        compare_campaigns(ledger, "known", "nobody")
    with pytest.raises(IncompleteEvidenceError, match="in common"):
        compare_campaigns(ledger, "known", "other")


@pytest.mark.slow(seconds=20)
def test_real_evidence_beside_itself_has_not_moved_and_a_slowed_cell_stands_out(twice_recorded):
    slowed = "grpo-2x6|attention-tiny|L4|tp1|cp1"
    ledger = twice_recorded({slowed: 1.5})
    found = compare_campaigns(ledger, "first", "second")
    assert len(found.times.cells) == 21
    assert [each.cell.name for each in found.times.moved] == [slowed]
    assert found.times.moved[0].cell.change_pct == pytest.approx(50)
    assert found.times.overall_pct == 0
    assert found.winners == ()
    assert 0 < found.times.cells_by_chance < 3
