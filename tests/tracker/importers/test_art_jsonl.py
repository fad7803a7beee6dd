"""Calibration records: medians from the samples that count, the others told apart, wrong lines named."""

import json

import pytest

from schemas import IncompleteEvidenceError, InvalidInputError
from tracker._fits import fit_campaign
from tracker._imports import import_evidence
from tracker._ledger import Ledger
from tracker.importers import ImportTerms, read_art_jsonl

TERMS = ImportTerms("imported", "t", ("held-",), required=3)


@pytest.fixture
def rows(calibration):
    return [*calibration.measured(calibration.cell()), *calibration.measured(calibration.cell("held-b"))]


@pytest.fixture
def read(calibration, tmp_path):
    def read_rows(rows, terms=TERMS):
        return read_art_jsonl([calibration.write(tmp_path / "c.jsonl", rows)], terms)

    return read_rows


def test_cells_come_with_medians_by_our_rule_and_without_the_automatic_choice(read, rows):
    evidence = read(rows)
    assert [cell.cell for cell in evidence.cells] == [
        "cal-a|org/model|L4|tp1|cp2",
        "held-b|org/model|L4|tp1|cp2",
    ]
    full, none = evidence.cells[0].candidates
    assert (full.label, full.median_ms, full.n) == ("full_sharing", 21.0, 3)
    assert full.spread_pct == pytest.approx(100 * 2 / 21)
    assert (none.label, none.median_ms, none.n) == ("no_sharing", 30.25, 4)
    assert evidence.manifest.holdout_keys() == ("held-b|org/model|L4|tp1|cp2",)
    assert evidence.cells[0].fingerprint.device_class.plain() == {
        "capability": "sm_90",
        "memory": "above-120g",
    }
    assert evidence.record.claims["automatic_ms"] == {cell.cell: [20.5] for cell in evidence.cells}


def test_samples_that_do_not_count_are_told_apart_and_move_no_median(read, rows, calibration):
    of = calibration.cell()
    plain = read(rows)
    others = [
        calibration.sample(of, "no_sharing", 0, 900.0, role="warmup"),
        calibration.sample(of, "no_sharing", 9, 901.0, compile_statuses=["none", "miss"]),
        calibration.sample(of, "no_sharing", 9, 902.0, subforward_count=2),
        calibration.sample(of, "no_sharing", 9, 903.0, subforward_count=2, compile_statuses=["miss"]),
        calibration.refusal(of, "no_sharing", "9 GiB over"),
    ]
    found = read([*rows, *others])
    assert found.cells == plain.cells
    assert found.record.claims["samples"]["cal-a|org/model|L4|tp1|cp2"]["no_sharing"] == {
        "compiled": 1,
        "refused": 1,
        "split": 2,
        "usable": 4,
        "warmup": 1,
    }
    refusals = found.record.claims["refusals"]
    assert refusals == {"cal-a|org/model|L4|tp1|cp2": {"no_sharing": ["9 GiB over"]}}


def test_a_candidate_without_a_usable_sample_fails_its_cell(read, rows, calibration):
    of = calibration.cell()
    kept = [row for row in rows if row["cell"] != "cal-a" or row.get("candidate_label") != "full_sharing"]
    evidence = read([*kept, calibration.refusal(of, "full_sharing", "9 GiB over")])
    assert [cell.cell for cell in evidence.cells] == ["held-b|org/model|L4|tp1|cp2"]
    (failure,) = evidence.failed
    assert failure.kind == "admission_refused"
    assert "full_sharing: 1 refused; 9 GiB over" in failure.message


def test_a_note_is_kept_with_its_cell(read, rows, calibration):
    note = calibration.cell() | {
        "record_type": "calibration_note",
        "candidate_label": "no_sharing",
        "message": "never compile-free",
    }
    claims = read([*rows, note]).record.claims
    assert claims["notes"]["cal-a|org/model|L4|tp1|cp2"] == [
        {"candidate": "no_sharing", "message": "never compile-free"}
    ]


def test_samples_may_lie_in_another_file_and_the_order_of_files_changes_nothing(rows, calibration, tmp_path):
    first = calibration.write(tmp_path / "a.jsonl", rows[::2])
    second = calibration.write(tmp_path / "b.jsonl", rows[1::2])
    one, two = read_art_jsonl([first, second], TERMS), read_art_jsonl([second, first], TERMS)
    assert one == two
    whole = read_art_jsonl([calibration.write(tmp_path / "whole.jsonl", rows)], TERMS)
    assert (one.manifest, one.cells) == (whole.manifest, whole.cells)


def change(place, **fields):
    def edit(rows):
        rows[place] = rows[place] | fields

    return edit


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (change(0, record_type="other"), r"c\.jsonl:1: record_type is 'other'"),
        (change(0, layers="four"), r"c\.jsonl:1: layers"),
        (change(0, dp=2), r"c\.jsonl:1: dp is 2"),
        (change(0, cell="cal-a|other|L4|tp1|cp2"), r"c\.jsonl:1: its parts give"),
        (change(0, candidates=[]), r"c\.jsonl:1: candidates without labels"),
        (change(0, device_memory_class="lots"), r"c\.jsonl:1.*lots"),
        (change(2, source="other"), r"c\.jsonl:3: source is 'other'"),
        (change(2, cell="unknown"), r"c\.jsonl:3: no calibration_cell for unknown"),
        (change(2, candidate_label="unknown"), r"c\.jsonl:3: no candidate 'unknown'"),
        (change(2, role="idle"), r"c\.jsonl:3: role is 'idle'"),
        (change(2, ms_max_rank=-1.0), r"c\.jsonl:3: ms_max_rank is -1\.0"),
        (change(2, ms_max_rank="fast"), r"c\.jsonl:3: ms_max_rank"),
        (change(2, compile_statuses="none"), r"c\.jsonl:3: compile_statuses"),
        (
            lambda rows: rows[2].pop("subforward_count"),
            r"c\.jsonl:3: not a complete record.*subforward_count",
        ),
        (lambda rows: rows[0].pop("geometry"), r"c\.jsonl:.*geometry"),
        (lambda rows: rows.insert(3, rows[2]), r"c\.jsonl:4: the same record as .*c\.jsonl:3"),
        (lambda rows: rows.append(rows[0] | {"tree_segments": 10}), r"told otherwise in .*c\.jsonl:1"),
    ],
)
def test_a_wrong_line_is_refused_by_file_and_line(read, rows, edit, complaint):
    edit(rows)
    with pytest.raises(InvalidInputError, match=complaint):
        read(rows)


@pytest.mark.parametrize("content", [b"{", b"[1]\n", b"\xff\xfe", b"[" * 100_000, b"", b"7"])
def test_foreign_bytes_are_refused(tmp_path, content):
    path = tmp_path / "foreign.jsonl"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"foreign\.jsonl|no calibration_cell"):
        read_art_jsonl([path], TERMS)


@pytest.mark.parametrize("holdout", [(), ("nowhere",), ("org/model",)])
def test_a_holdout_that_leaves_a_side_empty_is_refused_with_the_cells(read, rows, holdout):
    with pytest.raises(InvalidInputError, match=r"(?s)holdout.*cal-a\|org/model"):
        read(rows, ImportTerms("imported", "t", holdout))


def test_an_import_is_fitted_and_a_failed_cell_must_be_excluded_first(read, rows, calibration, tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    unmeasured = calibration.cell("cal-z")
    evidence = read([*rows, unmeasured])
    assert import_evidence(ledger, evidence)
    assert not import_evidence(ledger, evidence)
    states = {row["cell"].split("|")[0]: row["state"] for row in ledger.cell_states("imported")}
    assert states == {"cal-a": "imported", "held-b": "imported", "cal-z": "failed"}
    with pytest.raises(IncompleteEvidenceError, match="cal-z"):
        fit_campaign(ledger, "imported")


def test_the_command_imports_once_and_names_the_line_that_is_wrong(rows, calibration, tmp_path, monkeypatch):
    from click.testing import CliRunner

    from tracker.cli import cli

    monkeypatch.setenv("LAYOUTLEDGER_STORE", str(tmp_path / "ledger"))
    file = calibration.write(tmp_path / "c.jsonl", rows)
    options = ["import", "art-jsonl", str(file), "--campaign", "c", "--holdout", "held-", "--required", "3"]
    first, again = (CliRunner().invoke(cli, [*options, "--json"]) for _ in range(2))
    assert json.loads(first.stdout) == {"campaign": "c", "cells": 2, "failed": {}, "imported": True}
    assert json.loads(again.stdout)["imported"] is False
    other = CliRunner().invoke(cli, [*options[:-3], "cal-", "--required", "3"])
    assert isinstance(other.exception, InvalidInputError)
