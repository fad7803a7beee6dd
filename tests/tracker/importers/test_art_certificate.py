"""The origin project's certificates: what is read, and what is refused before anything is written."""

import json

import pytest

from schemas import InvalidInputError
from tracker.importers import read_art_certificate


@pytest.fixture
def original(shared):
    return shared / "evidence" / "h200-dense-h2560.certificate.json"


@pytest.fixture
def changed(original, tmp_path):
    """A copy of the certificate after a change to its content."""

    def change(edit):
        content = json.loads(original.read_text())
        edit(content)
        path = tmp_path / "changed.json"
        path.write_text(json.dumps(content))
        return path

    return change


def test_all_cells_come_with_their_candidates_and_holdout(original):
    evidence = read_art_certificate(original)
    assert len(evidence.cells) == 58
    assert sum(len(cell.candidates) for cell in evidence.cells) == 435
    assert len(evidence.manifest.holdout_keys()) == 13
    assert evidence.manifest.protocol.required == 8
    assert evidence.manifest.fit.method == "nnls-regret"


def test_devices_and_types_are_told_in_our_words(original):
    fingerprint = read_art_certificate(original).cells[0].fingerprint
    assert fingerprint.device_class.plain() == {"capability": "sm_90", "memory": "above-120g"}
    assert fingerprint.dtype == "bfloat16"


def test_the_source_and_its_claims_are_kept(original):
    record = read_art_certificate(original, campaign="renamed").record
    assert record.file_name == original.name
    assert record.claims["metrics"]["integer_all"]["ordered_pairs"] == 3849


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (lambda c: c["integer_table_milli_us"].update(gdn_level=1), "changed or damaged"),
        (lambda c: c.update(schema="something.else"), "schema is 'something.else'"),
        (lambda c: c["cells"].pop(), "missing"),
        (lambda c: c["cells"][3].pop("device"), "not a complete"),
        (lambda c: c["cells"][0].update(device_memory_class="lots"), "lots"),
        (lambda c: c["cells"][0]["facts"].update(layers=31.0), "L31"),
        (lambda c: c["cells"].append(c["cells"][0]), "more than once"),
        (lambda c: c["cells"][0]["candidates"][0]["features"].pop("max_depth"), "max_depth"),
        (lambda c: c["cells"][0]["candidates"][0].update(median_ms=-1.0), "median_ms"),
    ],
)
def test_a_file_that_is_not_right_is_refused_with_what_is_wrong(changed, edit, complaint):
    with pytest.raises(InvalidInputError, match=complaint):
        read_art_certificate(changed(edit))


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_foreign_bytes_are_refused(tmp_path, content):
    path = tmp_path / "foreign.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"foreign\.json"):
        read_art_certificate(path)


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_of_json_is_refused_before_anything_is_written(tmp_path, name):
    path = tmp_path / "c.json"
    path.write_text(f'{{"cells": [], "median_ms": {name}}}')
    with pytest.raises(InvalidInputError, match=f"not JSON: {name} is no number"):
        read_art_certificate(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"absent\.json"):
        read_art_certificate(tmp_path / "absent.json")
