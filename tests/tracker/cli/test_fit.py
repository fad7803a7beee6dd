"""`fit`, `certify`, `certificate`: the true table comes out, and what is not there is said."""

import json


def test_the_true_table_is_found_from_its_times(call, known, campaigns):
    outcome = call("fit", "known", "--method", "nnls", "--json")
    assert outcome.code == 0, outcome.err
    table = json.loads(outcome.out)["table"]
    for term, value in campaigns.TRUTH.items():
        assert abs(table[term] - value) <= 0.01 * value, (term, table[term])


def test_methods_are_compared_on_cells_left_out_and_nothing_is_recorded(call, known):
    before = known.log.segments()
    outcome = call("fit", "compare", "known", "--method", "nnls", "--json")
    assert outcome.code == 0, outcome.err
    (report,) = json.loads(outcome.out)
    assert report["method"] == "nnls"
    assert report["left_out"]["cell"]["groups"] == 3
    assert known.log.segments() == before


def test_certify_writes_a_certificate_that_checks_from_the_log(call, known):
    assert call("fit").code == 0
    issued = call("certify", "--json")
    assert issued.code == 0, issued.err
    file = json.loads(issued.out)["file"]
    checked = call("certificate", "check", file, "--refit")
    assert checked.code == 0, checked.err
    assert "made again from the log" in checked.out
    assert "FAILED" not in checked.out


def test_certifying_again_records_nothing_new(call, certified, issued):
    segments = certified.log.segments()
    again = json.loads(call("certify", "--json").out)
    assert (again["file"], again["digest"][:12]) == (str(issued), issued.stem.removeprefix("known-"))
    assert certified.log.segments() == segments


def test_an_exported_certificate_is_the_same_file(call, issued, tmp_path):
    exported = tmp_path / "exported.json"
    digest = issued.stem.removeprefix("known-")
    assert call("certificate", "export", digest[:10], "--output", exported).code == 0
    assert exported.read_bytes() == issued.read_bytes()


def test_a_later_exclusion_leaves_an_issued_certificate_as_it_is(call, certified, issued):
    cell = certified.manifest("known").keys[1]
    assert call("exclude", "known", cell, "--reason", "a doubtful clock", "--by", "ann").code == 0
    checked = call("certificate", "check", issued, "--refit")
    assert checked.code == 0, checked.out + checked.err


def test_a_certificate_from_another_ledger_is_checked_from_the_file_alone(call, issued, tmp_path):
    outcome = call("certificate", "check", issued, "--store", tmp_path / "elsewhere")
    assert outcome.code == 0, outcome.err
    assert "from the file alone" in outcome.out


def test_a_changed_certificate_does_not_verify(call, issued, tmp_path):
    content = json.loads(issued.read_text())
    content["predicate"]["cells"][0]["candidates"][0]["median_ms"] *= 1.001
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(content))
    outcome = call("certificate", "check", changed)
    assert outcome.code == 6
    assert "made again from the log" in outcome.err


def test_a_foreign_file_is_no_certificate(call, known, tmp_path):
    foreign = tmp_path / "foreign.json"
    foreign.write_text('{"hello": 1}')
    for verb in (("certificate", "check"), ("certificate", "show"), ("import", "art-certificate")):
        outcome = call(*verb, foreign)
        assert outcome.code == 2
        assert "foreign.json" in outcome.err


def test_an_unknown_campaign_is_named_with_those_there_are(call, known):
    outcome = call("fit", "unknown")
    assert outcome.code == 3
    assert "'unknown'" in outcome.err
    assert "known" in outcome.err


def test_an_unknown_method_lists_the_known_ones(call, known):
    outcome = call("fit", "known", "--method", "magic")
    assert outcome.code == 2
    assert "nnls-regret" in outcome.err


def test_a_fit_over_incomplete_evidence_lists_every_gap_and_records_nothing(call, campaigns, store):
    manifest = campaigns.known_manifest()
    ledger = campaigns.known_ledger(store, manifest.model_copy(update={"cells": manifest.cells}))
    segment = ledger.log.segments("known")[-1]
    segment.path.unlink()
    before = ledger.log.segments()
    outcome = call("fit", "known")
    assert outcome.code == 4
    assert "held-grpo" in outcome.err
    assert "not measured" in outcome.err
    assert ledger.log.segments() == before


def test_thin_evidence_is_refused_by_candidate(call, campaigns, store):
    ledger = campaigns.known_ledger(store)
    plan = ledger.manifest("known").cells[0]
    campaigns.record_cell(ledger, "known", plan, number=2, rounds=(1.0, 1.01))
    outcome = call("fit", "known")
    assert outcome.code == 4
    assert "2 usable samples of 4" in outcome.err


def test_two_fingerprints_of_a_cell_are_refused(call, campaigns, known):
    plan = known.manifest("known").cells[0]
    campaigns.record_cell(known, "known", plan, number=2, source="t" * 64)
    outcome = call("fit", "known")
    assert outcome.code == 4
    assert "2 execution fingerprints" in outcome.err


def test_a_failed_gate_gives_no_certificate_and_records_the_refusal(call, campaigns, store):
    # Levels decide, and the table may count tokens alone: it must pick wrongly.
    terms = 'terms = ["token_per_rank"]'
    toml = campaigns.TOML.replace('terms = ["token_per_rank", "tiny_segment_per_layer", "gdn_level"]', terms)
    truth = {"token_per_rank": 4_000, "gdn_level": 90_000_000}
    campaigns.known_ledger(store, campaigns.known_manifest(toml), truth)
    fit = call("fit", "known")
    assert fit.code == 5
    assert "gate" in fit.err
    refused = call("certify", "known")
    assert refused.code == 5
    rows = json.loads(
        call("sql", "select issued, len(reasons) > 0 as told from certificates", "--format", "json").out
    )
    assert rows == [{"issued": False, "told": True}]
    assert not (store / "certificates").exists()
