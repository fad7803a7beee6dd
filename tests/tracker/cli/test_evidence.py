"""`exclude`, `import`, `sql`, `recover`, `verify`: what a user may get wrong changes nothing and is said."""

import json
import shutil

import pytest


def test_an_exclusion_needs_a_reason(call, known):
    cell = known.manifest("known").keys[0]
    before = known.log.segments()
    for arguments in (("exclude", "known", cell), ("exclude", "known", cell, "--reason", "  ")):
        outcome = call(*arguments)
        assert outcome.code == 2
        assert "reason" in outcome.err.lower()
    assert known.log.segments() == before


def test_an_unknown_cell_is_refused_with_the_cells_there_are(call, known):
    outcome = call("exclude", "known", "no-such-cell", "--reason", "x")
    assert outcome.code == 3
    assert known.manifest("known").keys[0] in outcome.err


def test_an_exclusion_is_listed_and_lets_the_fit_go_on_without_the_cell(call, known):
    cell = known.manifest("known").keys[1]
    assert call("exclude", "known", cell, "--reason", "doubtful", "--by", "ann").code == 0
    fitted = json.loads(call("fit", "known", "--json").out)
    assert fitted["excluded_cells"] == [cell]
    assert cell not in fitted["training_cells"]
    again = call("exclude", "known", cell, "--reason", "doubtful")
    assert again.code == 2
    assert "already" in again.err


def test_the_h200_certificate_is_imported_once_and_gives_its_table(call, shared, store):
    file = shared / "evidence" / "h200-dense-h2560.certificate.json"
    assert call("import", "art-certificate", file).code == 0
    again = json.loads(call("import", "art-certificate", file, "--json").out)
    assert again["imported"] is False
    fitted = json.loads(call("fit", "--json").out)
    claims = json.loads(file.read_text())
    assert fitted["table"] == claims["integer_table_milli_us"]
    assert fitted["table_digest"] == claims["integer_table_sha256"]
    for ours, theirs in (("all", "integer_all"), ("train", "train"), ("holdout", "test")):
        for name, value in claims["metrics"][theirs].items():
            assert fitted["metrics"][ours][name] == pytest.approx(value, abs=1e-9)


def test_other_evidence_under_a_taken_name_is_refused(call, shared, known):
    file = shared / "evidence" / "h200-dense-h2560.certificate.json"
    before = known.log.segments()
    outcome = call("import", "art-certificate", file, "--campaign", "known")
    assert outcome.code == 2
    assert "--campaign" in outcome.err
    assert known.log.segments() == before


@pytest.mark.parametrize(
    ("form", "expected"),
    [("json", '"n": 3'), ("csv", "n\n3\n"), ("table", "3")],
)
def test_sql_answers_in_each_form(call, known, form, expected):
    outcome = call("sql", "select count(*) as n from cells", "--format", form)
    assert outcome.code == 0
    assert expected in outcome.out


def test_sql_that_is_wrong_or_writes_is_refused(call, known):
    for query in ("select nothing from nowhere", "drop view cells", "copy cells to 'x.csv'"):
        outcome = call("sql", query)
        assert outcome.code == 2, query
        assert outcome.err.startswith("error:")


def test_a_folder_without_a_ledger_is_said(call):
    for arguments in (("sql", "select 1"), ("verify",), ("recover",), ("fit",), ("push",), ("versions",)):
        outcome = call(*arguments)
        assert outcome.code == 3, arguments
        assert "no ledger here" in outcome.err


def test_a_flipped_byte_is_found_with_file_and_line_and_refused_by_the_fit(call, known, store):
    segment = known.log.segments("known")[1]
    data = bytearray(segment.path.read_bytes())
    second = data.index(b"\n") + 40
    data[second] ^= 1
    segment.path.write_bytes(data)
    before = {path: path.read_bytes() for path in store.joinpath("log").rglob("*") if path.is_file()}
    outcome = call("verify")
    assert outcome.code == 6
    assert f"{segment.path}:2" in outcome.out
    fit = call("fit", "known")
    assert fit.code == 6
    assert segment.path.name in fit.err
    assert before == {path: path.read_bytes() for path in store.joinpath("log").rglob("*") if path.is_file()}


def test_recover_closes_a_dead_attempt_and_a_second_one_finds_nothing(call, known):
    writer = known.log.open_segment("known", "attempt", {"cell": "c", "attempt": "9"})
    writer.close()
    assert "1 segments sealed" in call("recover").err
    assert "0 segments sealed" in call("recover").err


def test_an_untouched_ledger_verifies(call, known):
    call("push")
    outcome = call("verify")
    assert outcome.code == 0, outcome.out


def test_a_sample_is_proven_to_stand_in_its_campaign(call, known):
    from tracker.log import campaign_checkpoint, check_inclusion

    query = "select segment, seq from events where type = 'sample.recorded' limit 1"
    row = json.loads(call("sql", query, "--format", "json").out)[0]
    proof = json.loads(call("prove", row["segment"], row["seq"]).out)
    root = campaign_checkpoint(known.log, "known").root
    assert check_inclusion(proof, root)
    assert not check_inclusion({**proof, "line": proof["line"].replace("measured", "warmup")}, root)


def test_projections_that_were_deleted_are_made_again(call, certified, store):
    certificate = json.loads(call("certify", "--json").out)
    call("push")
    medians = call("sql", "from candidate_medians", "--format", "csv").out
    for folder in ("warehouse", "mlflow", "certificates"):
        shutil.rmtree(store / folder)
    rebuilt = json.loads(call("rebuild", "--json").out)
    assert len(rebuilt["runs_created"]) == len(certified.log.segments())
    assert call("sql", "from candidate_medians", "--format", "csv").out == medians
    assert json.loads(call("certify", "--json").out) == certificate
    assert call("verify").code == 0


def test_a_pull_without_anything_new_takes_in_nothing(call, known):
    call("push")
    pulled = json.loads(call("pull", "--json").out)
    assert pulled["adopted"] == []
    assert pulled["known"] == len(known.log.segments())


def test_sql_for_a_shared_server_is_printed(call):
    outcome = call("protect")
    assert outcome.code == 0
    assert "CREATE OR REPLACE FUNCTION" in outcome.out
