import pytest

from planner import load
from schemas import CorruptionError, InvalidInputError, NotFoundError


def test_a_file_and_its_folder_load_alike(write_bundle, dense_table):
    bundle = write_bundle("h200")
    by_file, by_folder = load(bundle.path), load(str(bundle.folder))
    assert by_file.tables == by_folder.tables
    assert by_file.digest == by_folder.digest == bundle.digest
    assert by_file.version is None
    assert by_file.tables[0].coefficients == dense_table


def widen(domain):
    domain["dtypes"].append("float64")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda b: b["tables"][0]["coefficients"].update(token_per_rank=2003), "table_digest"),
        (lambda b: b["tables"][0].update(certificate_digest="0" * 64), "certificate_digest"),
        (lambda b: widen(b["tables"][0]["domain"]), "domain is not that of the certificate"),
        (lambda b: b["tables"][0].update(table_digest="0" * 64), "table_digest"),
        (lambda b: b["tables"][0].update(table_id="other"), "table_id is not that of the certificate"),
    ],
)
def test_a_changed_bundle_is_refused_and_the_field_named(write_bundle, change, said):
    bundle = write_bundle("h200")
    bundle.edit(change)
    with pytest.raises(CorruptionError, match=said) as error:
        load(bundle.path)
    assert "coefficients.json" in str(error.value)


def test_a_changed_certificate_is_refused(write_bundle):
    bundle = write_bundle("h200")
    bundle.edit(lambda s: s["predicate"].update(campaign="another"), "h200.certificate.json")
    with pytest.raises(CorruptionError, match=r"h200\.certificate\.json: digest is"):
        load(bundle.path)


def test_a_domain_widened_in_bundle_and_certificate_still_lacks_its_cells(write_bundle):
    bundle = write_bundle("h200")
    from schemas import Statement

    def widen_certificate(statement):
        widen(statement["predicate"]["domain"])
        bundle.digest_of_widened = Statement.parse(statement, where="test").digest

    bundle.edit(widen_certificate, "h200.certificate.json")

    def widen_bundle(content):
        widen(content["tables"][0]["domain"])
        content["tables"][0]["certificate_digest"] = bundle.digest_of_widened

    bundle.edit(widen_bundle)
    with pytest.raises(CorruptionError, match="no certified cell measured: float64"):
        load(bundle.path)


def test_a_missing_certificate_is_refused(write_bundle):
    bundle = write_bundle("h200")
    (bundle.folder / "h200.certificate.json").unlink()
    with pytest.raises(CorruptionError, match="certificate of table h200 is missing"):
        load(bundle.path)


def test_a_certificate_is_read_from_beside_the_bundle_only(write_bundle):
    bundle = write_bundle("h200")
    bundle.edit(lambda b: b["tables"][0].update(certificate_file="../h200.certificate.json"))
    with pytest.raises(CorruptionError, match="beside it"):
        load(bundle.path)


def test_an_unknown_term_is_refused(write_bundle, monkeypatch):
    bundle = write_bundle("h200")
    monkeypatch.setattr("planner._score.TERMS", {"token_per_rank": None})
    with pytest.raises(InvalidInputError, match="is no term"):
        load(bundle.path)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": "other"}', "\x00"])
def test_a_foreign_file_is_refused(tmp_path, content):
    path = tmp_path / "coefficients.json"
    path.write_text(content)
    with pytest.raises(InvalidInputError, match=r"coefficients\.json"):
        load(path)


def test_a_missing_file_is_not_found(tmp_path):
    with pytest.raises(NotFoundError, match="no such file"):
        load(tmp_path / "coefficients.json")


@pytest.mark.parametrize(
    ("source", "given"),
    [
        ("layout-cost", {}),
        ("layout-cost", {"version": 1, "alias": "champion"}),
        ("layout-cost", {"version": 0}),
        ("layout-cost", {"version": True}),
        ("models:/layout-cost", {}),
        ("models:/layout-cost/latest", {}),
        ("models:/layout-cost/2", {"version": 2}),
    ],
)
def test_an_address_that_names_no_version_is_refused(source, given):
    with pytest.raises(InvalidInputError):
        load(source, **given)
