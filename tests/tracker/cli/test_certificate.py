"""`certificate`: signed, compared, and checked from the tracking store alone."""

import json
import shutil


def test_a_signed_certificate_verifies_and_gives_the_file_back(call, issued, tmp_path):
    key, again = tmp_path / "ann.pem", tmp_path / "again.json"
    public = call("certificate", "keygen", key).out.strip()
    envelope = call("certificate", "sign", issued, "--key", key).out.strip()
    verified = call("certificate", "verify", envelope, "--key", public, "--output", again)
    assert verified.code == 0, verified.err
    assert again.read_bytes() == issued.read_bytes()
    private = key.read_bytes()
    lost = call("certificate", "sign", issued, "--key", key, "--output", key)
    assert lost.code == 2 and "would be lost" in lost.err
    assert key.read_bytes() == private
    call("certificate", "keygen", tmp_path / "eve.pem")
    assert call("certificate", "verify", envelope, "--key", tmp_path / "eve.pem.pub").code == 6
    assert call("certificate", "verify", issued, "--key", public).code == 2


def test_a_certificate_is_checked_from_the_tracking_store_alone(call, issued, store, tmp_path):
    call("push")
    shutil.rmtree(store / "log")
    shutil.rmtree(store / "warehouse", ignore_errors=True)
    checked = call("certificate", "check", issued, "--from", "mlflow", "--refit", "--json")
    assert checked.code == 0, checked.out + checked.err
    names = {check["name"] for check in json.loads(checked.out)["checks"]}
    assert {"made again from the log", "evidence root", "refit"} <= names
    assert not (store / "log").exists()


def test_a_tracking_store_that_lacks_a_segment_does_not_carry_the_certificate(call, issued, store):
    call("push")
    for path in (store / "mlflow" / "artifacts").rglob("*.jsonl"):
        if b"cell.completed" in path.read_bytes():
            path.write_bytes(path.read_bytes()[:-10])
    checked = call("certificate", "check", issued, "--from", "mlflow")
    assert checked.code == 6
    assert "FAILED" in checked.out


def test_without_a_tracking_store_that_is_said_and_none_is_made(call, issued, store):
    shutil.rmtree(store / "mlflow", ignore_errors=True)
    outcome = call("certificate", "check", issued, "--from", "mlflow")
    assert outcome.code == 3
    assert not (store / "mlflow").exists()


def test_from_the_file_alone_the_log_is_not_read(call, issued, store):
    shutil.rmtree(store / "log")
    outcome = call("certificate", "check", issued, "--from", "file", "--refit")
    assert outcome.code == 0, outcome.out
    assert "made again from the log" not in outcome.out


def test_two_certificates_are_compared(call, issued, certified, tmp_path):
    first = tmp_path / "first.json"
    first.write_bytes(issued.read_bytes())
    cell = certified.manifest("known").keys[1]
    call("exclude", "known", cell, "--reason", "a doubtful clock", "--by", "ann")
    call("fit")
    second = json.loads(call("certify", "--json").out)["file"]
    found = json.loads(call("certificate", "diff", first, second, "--json").out)
    assert found["removed"] == [cell]
    assert "exclusions" in found["rules"]
    assert "nothing differs" in call("certificate", "diff", first, first).err


def test_a_line_that_was_changed_since_the_views_were_made_is_found_by_the_check(call, issued, certified):
    assert call("certificate", "check", issued).code == 0
    segment = certified.log.find(certified.evidence_segments("known")[1])
    segment.path.write_bytes(segment.path.read_bytes().replace(b'"ms":1', b'"ms":2', 1))
    checked = call("certificate", "check", issued)
    assert checked.code == 6
    assert "lines of the log" in checked.err and segment.path.name in checked.out
    again = call("certify", "known")
    assert again.code == 6 and segment.path.name in again.err


def test_a_number_that_no_aggregate_shows_is_found_by_the_digest_in_the_files_name(call, issued, tmp_path):
    content = json.loads(issued.read_bytes())
    assert call("certificate", "check", issued, "--from", "file").code == 0
    content["predicate"]["cells"][0]["candidates"][0]["n"] += 1
    issued.write_text(json.dumps(content))
    checked = call("certificate", "check", issued, "--from", "file")
    assert checked.code == 6 and "digest in the file's name" in checked.err
    # Under any other name nothing says what it was: from the file alone, only a signature does.
    assert call("certificate", "check", shutil.copy(issued, tmp_path / "c.json"), "--from", "file").code == 0
