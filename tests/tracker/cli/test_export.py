"""A table goes elsewhere whole, in a form that is read back to the same digest."""

import ast
import json

import pytest

from schemas import table_digest


@pytest.fixture
def fitted(certified) -> dict:
    """The certified fit."""
    _, result = certified.warehouse.fits("known")[0]
    return result.plain()


def test_both_forms_read_back_to_the_table(call, fitted):
    as_json = call("export", "table", fitted["table_digest"][:8])
    as_python = call("export", "table", fitted["table_digest"][:8], "--form", "python")
    assert json.loads(as_json.out) == ast.literal_eval(as_python.out) == fitted["table"]
    assert table_digest(json.loads(as_json.out)) == fitted["table_digest"]
    assert fitted["table_digest"] in as_python.out


def test_a_certificates_digest_names_its_table_too(call, fitted, issued, tmp_path):
    digest = issued.stem.removeprefix("known-")
    file = tmp_path / "table.json"
    assert call("export", "table", digest, "--output", file).code == 0
    assert json.loads(file.read_text()) == fitted["table"]


def test_an_unknown_digest_is_answered_with_the_tables_there_are(call, fitted):
    for digest in ("ffffffffffff0", ""):
        outcome = call("export", "table", digest)
        assert outcome.code == 3
        assert fitted["table_digest"] in outcome.err


def test_a_beginning_of_two_tables_is_not_enough(call, certified):
    """Tables are recorded until two of their digests begin alike."""
    _, result = certified.warehouse.fits("known")[0]
    firsts, value = {result.table_digest[0]}, 0
    while True:
        value += 1
        table = {"gdn_level": value}
        digest = table_digest(table)
        with certified.log.open_segment("known", "fit") as segment:
            again = result.model_copy(update={"table": table, "table_digest": digest})
            segment.append("fit.completed", again.plain())
        if digest[0] in firsts:
            break
        firsts.add(digest[0])
    assert call("export", "table", digest[0]).code == 2
    assert call("export", "table", digest).code == 0
