import pytest

from schemas import (
    CertifiedCell,
    IncompleteEvidenceError,
    Manifest,
    NotFoundError,
)
from tracker.log import read_segment


def test_certified_cells_are_the_log_in_records(measured, warehouse):
    cells = warehouse.certified_cells("demo")
    assert [cell.cell for cell in cells] == sorted(cell.key for cell in measured.cells)
    assert {cell.cell: cell.held_out for cell in cells} == {
        cell.key: "tp2" in cell.key for cell in measured.cells
    }
    first = cells[0]
    assert isinstance(first, CertifiedCell)
    assert first.identity == measured.cells[0]
    assert first.facts.gdn_layers == 3
    assert first.fingerprint.geometry.hidden_size == 64
    assert [
        (c.label, c.median_ms, c.n, c.spread_pct, c.features.packed_tokens) for c in first.candidates
    ] == [
        ("depth_one", 4.0, 3, 150.0, 101),
        ("full_sharing", 1.25, 3, 40.0, 102),
        ("no_sharing", 2.5, 4, 120.0, 100),
    ]


def test_only_the_named_segments_are_seen(measured, warehouse):
    before = warehouse.evidence_segments("demo")
    cells = warehouse.certified_cells("demo")
    measured.attempt("demo", measured.cells[0], {label: (9.0,) for label in measured.labels}, number=2)
    measured.one(
        "demo", "exclusion", "cell.excluded", {"cell": measured.cells[1].key, "reason": "x", "by": "me"}
    )
    assert warehouse.certified_cells("demo") != cells
    assert warehouse.certified_cells("demo", before) == cells
    assert [item.cell for item in warehouse.exclusions("demo")] == [measured.cells[1].key]
    assert warehouse.exclusions("demo", before) == ()
    assert len(warehouse.evidence_segments("demo")) == len(before) + 2


def test_the_named_segments_are_seen_in_parts_too(measured, warehouse):
    before = warehouse.evidence_segments("demo")
    cells = warehouse.certified_cells("demo")
    for number in range(2, 20):
        measured.attempt(
            "demo", measured.cells[0], {label: (9.0,) for label in measured.labels}, number=number
        )
    assert warehouse.certified_cells("demo", before) == cells


def test_an_excluded_cell_is_not_certified(measured, warehouse):
    measured.one(
        "demo", "exclusion", "cell.excluded", {"cell": measured.cells[1].key, "reason": "x", "by": "me"}
    )
    assert measured.cells[1].key not in {cell.cell for cell in warehouse.certified_cells("demo")}
    (exclusion,) = warehouse.exclusions("demo")
    assert (exclusion.reason, exclusion.reference, exclusion.by) == ("x", "", "me")


def test_a_candidate_without_a_usable_sample_is_refused(recorder, warehouse):
    recorder.open_campaign(recorder.manifest())
    recorder.attempt("demo", recorder.cells[0], {"no_sharing": (1.0,), "depth_one": (2.0,)})
    with pytest.raises(IncompleteEvidenceError, match=r"cp1 full_sharing; measure"):
        warehouse.certified_cells("demo")


def test_an_unexpected_cell_is_shown_so_that_it_can_be_refused(measured, warehouse):
    measured.attempt("demo", measured.identity("foreign"), measured.times)
    assert "foreign|hybrid|L4|tp1|cp1" in {cell.cell for cell in warehouse.certified_cells("demo")}


def test_the_manifest_is_the_registered_one(measured, warehouse):
    found = warehouse.manifest("demo")
    assert isinstance(found, Manifest)
    assert found.digest == measured.manifest().digest
    assert warehouse.campaigns() == ("demo",)


def test_an_unknown_campaign_is_told_with_those_there_are(measured, warehouse):
    for read in (warehouse.manifest, warehouse.certified_cells, warehouse.exclusions, warehouse.opened):
        with pytest.raises(NotFoundError, match=r"no campaign 'dema'.*there is: demo"):
            read("dema")


def test_attempts_are_counted_of_any_outcome(measured, warehouse):
    cell = measured.cells[0]
    measured.fail(measured.begin("demo", cell, 2, "s2"), cell)
    assert warehouse.attempt_numbers("demo")[cell.key] == 2
    assert warehouse.completed_cells("demo") == tuple(sorted(cell.key for cell in measured.cells))


def test_every_fingerprint_of_a_cell_is_told_the_counting_first(measured, warehouse):
    cell = measured.cells[0]
    measured.attempt("demo", cell, measured.times, number=2, source="s2")
    found = warehouse.fingerprints("demo")
    assert [item.source for item in found[cell.key]] == ["s2", "s1"]
    assert [item.source for item in found[measured.cells[1].key]] == ["s1"]


def test_times_are_those_of_the_log(measured, warehouse):
    lines = [event for place in measured.log.segments("demo") for event in read_segment(place.path)]
    assert warehouse.opened("demo") == next(e.time for e in lines if e.type == "campaign.opened")
    assert warehouse.first_sample("demo") == next(e.time for e in lines if e.type == "sample.recorded")


def test_fits_come_back_as_they_were_recorded(recorder, warehouse):
    plan = recorder.manifest()
    recorder.open_campaign(plan)
    recorded = [recorder.fit(plan, number) for number in range(2)]
    ids = [recorder.one("demo", "fit", "fit.completed", item.plain()) for item in recorded]
    assert warehouse.fits("demo") == tuple(zip(ids, recorded, strict=True))
    assert warehouse.evidence_segments("demo") == (warehouse.log.segments("demo")[0].segment,)
    rows = warehouse.query("SELECT term, milli_us FROM coefficient_tables").records()
    assert rows[:3] == [
        {"term": "gdn_level", "milli_us": 2**60},
        {"term": "number", "milli_us": 0},
        {"term": "token_per_rank", "milli_us": 2002},
    ]
    (row, _) = warehouse.query(
        "SELECT pairwise_accuracy, p95_regret_pct, max_regret_pct, training_cells, terms, passed FROM fits"
    ).rows()
    assert row == (0.9812938425565082, 2.87166214323753, None, 2, ["token_per_rank"], True)
