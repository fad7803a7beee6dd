"""What fits and certificates stand on has to be in the log, and certificates to be what was issued."""

import shutil
from dataclasses import replace

import pytest

from schemas import EvidenceRoot, InvalidInputError
from tracker._certificates import certify_fit, check_certificate, latest_certificate
from tracker._fits import fit_campaign
from tracker._ledger import Ledger
from tracker._verification import verify_certificates, verify_ledger
from tracker.certificate.signing import generate_keys, sign_certificate


@pytest.fixture(scope="module")
def two_certified(campaigns, certified_once, tmp_path_factory):
    """Two campaigns of one ledger, each with a certificate: the folder, to be copied, and these."""
    store = shutil.copytree(certified_once, tmp_path_factory.mktemp("two") / "ledger")
    text = campaigns.TOML.replace('campaign = "known"', 'campaign = "second"')
    ledger = campaigns.known_ledger(store, campaigns.known_manifest(text))
    second = certify_fit(ledger, "second", fit_campaign(ledger, "second").id)
    return store, {"known": latest_certificate(ledger, "known"), "second": second}


@pytest.fixture
def certified(two_certified, tmp_path):
    """A copy of that ledger, and its certificates by campaign."""
    store, issued = two_certified
    ledger = Ledger(shutil.copytree(store, tmp_path / "ledger"))
    folder = ledger.store / "certificates"
    return ledger, {name: replace(one, path=folder / one.path.name) for name, one in issued.items()}


def findings(ledger):
    return [(each.what, each.expected) for each in verify_certificates(ledger.store, ledger.log)]


def test_nothing_is_found_where_nothing_was_changed(certified):
    ledger, _ = certified
    assert findings(ledger) == []


def test_each_segment_of_the_evidence_is_missed_when_it_is_deleted(certified):
    ledger, issued = certified
    for segment in issued["known"].statement.predicate.evidence.segments:
        path = ledger.log.find(segment).path
        data = path.read_bytes()
        path.unlink()
        assert findings(ledger) == [("deleted segment", segment)]
        path.write_bytes(data)


def test_a_deleted_fit_is_missed_by_its_certificate(certified):
    ledger, issued = certified
    fit = issued["known"].statement.predicate.fit
    ledger.log.find(fit).path.unlink()
    assert ("deleted segment", fit) in findings(ledger)


def test_a_deleted_segment_is_named_by_the_whole_check(certified):
    ledger, issued = certified
    segment = issued["known"].statement.predicate.evidence.segments[1]
    ledger.log.find(segment).path.unlink()
    assert ("deleted segment", segment) in [(each.what, each.expected) for each in verify_ledger(ledger)]


@pytest.mark.parametrize("kind", ["fit.completed", "sample.recorded"])
def test_a_line_that_says_what_its_type_does_not_is_named_with_its_place(certified, kind):
    ledger, _ = certified
    with ledger.log.open_segment("known", "fit" if kind == "fit.completed" else "attempt") as writer:
        writer.append(kind, {"x": 1})
        path = writer.seal().path
    with pytest.raises(InvalidInputError, match=f"{path}: line 2: {kind}.*move the file out of the log"):
        ledger.warehouse.refresh()
    found = [each for each in verify_ledger(ledger) if each.where.startswith(str(path))]
    assert [(each.what, each.where) for each in found] == [("unreadable payload", f"{path}:2")]
    assert "x: Extra inputs" in found[0].found


def test_a_segment_written_anew_under_its_old_id_is_found(certified, campaigns, tmp_path):
    from tracker.log import read_segment
    from tracker.log._encoder import LineEncoder

    ledger, issued = certified
    evidence = issued["known"].statement.predicate.evidence
    path = ledger.log.find(evidence.segments[-1]).path
    events = read_segment(path)
    encoder = LineEncoder(events[0].source, events[0].subject)
    lines = [encoder.encode(each.type, each.data, each.version)[0] for each in events[:-1]]
    path.write_bytes(b"".join([*lines, encoder.seal()[0]]))
    assert read_segment(path)
    assert findings(ledger) == [("replaced segment", evidence.root)]


def test_certificates_swapped_between_campaigns_are_found(certified, tmp_path):
    ledger, issued = certified
    one, other = (issued[name].path for name in ("known", "second"))
    data = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(data)
    assert [what for what, _ in findings(ledger)] == ["certificate from another campaign"] * 2


def test_a_certificate_over_another_campaigns_evidence_fails_its_check(certified, tmp_path):
    from schemas import wrap_certificate
    from tracker.certificate import render_statement

    ledger, issued = certified
    body = issued["known"].statement.predicate
    foreign: EvidenceRoot = issued["second"].statement.predicate.evidence
    for changes in ({"evidence": foreign}, {"campaign": "second"}):
        forged = wrap_certificate(body.model_copy(update=changes))
        path = tmp_path / "forged.json"
        path.write_bytes(render_statement(forged))
        _, checks = check_certificate(path, ledger, refit=False)
        assert not all(check.passed for check in checks)
        shutil.copy(
            path, ledger.store / "certificates" / f"{forged.predicate.campaign}-{forged.digest[:12]}.json"
        )
        assert [what for what, _ in findings(ledger)] == ["edited certificate"]
        for file in (ledger.store / "certificates").glob(f"*{forged.digest[:12]}.json"):
            file.unlink()


def test_a_certificate_file_that_was_edited_or_only_laid_out_anew_is_found(certified):
    ledger, issued = certified
    path = issued["known"].path
    text = path.read_text()
    path.write_text(text.replace("\n", "\n "))
    assert [what for what, _ in findings(ledger)] == ["edited certificate"]
    path.write_text("{}")
    assert [what for what, _ in findings(ledger)] == ["edited certificate"]
    path.unlink()
    assert findings(ledger) == []


def test_a_signed_certificate_beside_its_file_is_fine_and_one_of_another_content_is_found(
    certified, tmp_path
):
    ledger, issued = certified
    generate_keys(tmp_path / "ann.pem")
    path = issued["known"].path
    signed = path.with_name(path.name.replace(".json", ".dsse.json"))
    signed.write_bytes(sign_certificate(path, tmp_path / "ann.pem"))
    assert findings(ledger) == []
    shutil.copyfile(signed, signed.with_name(issued["second"].path.name.replace(".json", ".dsse.json")))
    assert [what for what, _ in findings(ledger)] == ["certificate from another campaign"]
    signed.write_text("{}")
    assert "edited certificate" in [what for what, _ in findings(ledger)]
