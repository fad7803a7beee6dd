"""`report` writes a page, says where, and refuses what it cannot do before anything is written."""

import json

from tracker._campaigns import open_campaign
from tracker._ledger import Ledger


def test_the_page_lies_in_the_ledgers_folder_unless_a_file_is_named(call, known, store, tmp_path):
    assert call("report").code == 0
    written = (store / "reports" / "known.html").read_bytes()
    assert written.startswith(b"<!doctype html>")
    named = tmp_path / "elsewhere" / "page.html"
    answer = call("report", "known", "--output", named, "--json")
    assert json.loads(answer.out) == {"campaign": "known", "path": str(named), "bytes": len(written)}
    assert named.read_bytes() == written


def test_a_campaign_that_nothing_was_measured_of_has_a_page(call, campaigns, store):
    open_campaign(Ledger(store), campaigns.known_manifest())
    assert call("report", "known").code == 0
    assert "Not fitted yet" in (store / "reports" / "known.html").read_text()


def test_what_cannot_be_written_is_refused(call, campaigns, store, tmp_path):
    open_campaign(Ledger(store), campaigns.known_manifest())
    answer = call("report", "nothing")
    assert answer.code == 3 and "no campaign 'nothing'" in answer.err
    (tmp_path / "file").write_text("here")
    answer = call("report", "known", "--output", tmp_path / "file" / "page.html")
    assert answer.code == 7 and "--output" in answer.err
    assert not (store / "reports").exists()
