"""A certificate says what its cells give, and a change anywhere is found."""

import json

import pytest

from schemas import InvalidInputError, Statement, wrap_certificate
from tracker.certificate import check_file, check_refit, measured_domain, read_statement, render_statement


def altered(statement: Statement, **changes) -> Statement:
    """The statement with a changed certificate, its subjects made to agree."""
    return wrap_certificate(statement.predicate.model_copy(update=changes))


def failed(statement: Statement) -> set[str]:
    return {check.name for check in check_file(statement) if not check.passed}


def test_the_published_table_and_metrics_come_out(statement, imported):
    body = statement.predicate
    claims = imported.record.claims
    assert body.table == claims["integer_table_milli_us"]
    assert body.table_digest == claims["integer_table_sha256"]
    for ours, theirs in (("all", "integer_all"), ("train", "train"), ("holdout", "test")):
        found = body.metrics[ours].plain()
        for name, value in claims["metrics"][theirs].items():
            assert found[name] == pytest.approx(value, abs=1e-9), (ours, name)


def test_the_hand_set_score_stands_beside_it(statement):
    hand_set = statement.predicate.hand_set
    assert hand_set.pairwise_accuracy == pytest.approx(0.7857, abs=5e-5)
    assert hand_set.p95_regret_pct == pytest.approx(23.01, abs=5e-3)
    assert hand_set.max_regret_pct == pytest.approx(67.46, abs=5e-3)


def test_a_true_certificate_passes_every_check_and_the_refit(statement):
    assert failed(statement) == set()
    assert check_refit(statement).passed


def test_the_file_reads_back_to_the_same_statement_a_cell_a_line(statement, tmp_path):
    path = tmp_path / "certificate.json"
    path.write_bytes(render_statement(statement))
    assert read_statement(path) == statement
    assert read_statement(path).digest == statement.digest
    lines = path.read_text().splitlines()
    assert sum(line.lstrip().startswith('{"candidates"') for line in lines) == 58


def test_medians_in_another_order_are_found(statement):
    cell = statement.predicate.cells[0]
    medians = sorted((candidate.median_ms for candidate in cell.candidates), reverse=True)
    by_time = sorted(cell.candidates, key=lambda candidate: candidate.median_ms)
    swapped = dict(zip((candidate.label for candidate in by_time), medians, strict=True))
    candidates = tuple(c.model_copy(update={"median_ms": swapped[c.label]}) for c in cell.candidates)
    cells = (cell.model_copy(update={"candidates": candidates}), *statement.predicate.cells[1:])
    assert "metrics" in failed(altered(statement, cells=cells))


@pytest.mark.parametrize(
    ("field", "value", "check"),
    [
        ("table_digest", "0" * 64, "table digest"),
        ("required_samples", 9, "completeness"),
        ("expected_cells", ("another",), "completeness"),
        ("by_model", {}, "metrics by model"),
        ("verdicts", (), "gates"),
    ],
)
def test_a_changed_field_is_found(statement, field, value, check):
    assert check in failed(altered(statement, **{field: value}))


def test_a_domain_wider_than_its_cells_is_found(statement):
    domain = statement.predicate.domain
    shape = domain.shapes[0].model_copy(update={"tp": 8})
    assert "domain" in failed(
        altered(statement, domain=domain.model_copy(update={"shapes": (*domain.shapes, shape)}))
    )


def test_a_held_out_cell_called_training_is_found(statement):
    cells = tuple(cell.model_copy(update={"held_out": False}) for cell in statement.predicate.cells)
    assert "holdout rule" in failed(altered(statement, cells=cells))


def test_another_integer_fails_the_refit(statement):
    table = dict(statement.predicate.table)
    table["gdn_level"] += 1
    check = check_refit(altered(statement, table=table))
    assert not check.passed
    assert "gdn_level" in check.detail


def test_subjects_that_do_not_name_the_certificate_are_refused(statement, tmp_path):
    content = json.loads(render_statement(statement))
    content["subject"][0]["digest"]["sha256"] = "0" * 64
    path = tmp_path / "foreign.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InvalidInputError, match="subjects"):
        read_statement(path)


def test_a_pair_of_geometry_and_shape_that_no_cell_joins_is_withheld(statement):
    cells = statement.predicate.cells
    first, second = statement.predicate.domain.geometries
    kept = [
        cell
        for cell in cells
        if cell.fingerprint.geometry == first or cell.identity.shape != cells[0].identity.shape
    ]
    withheld = measured_domain(kept).withheld
    assert [(pair.geometry, pair.shape) for pair in withheld] == [(second, cells[0].identity.shape)]
    assert measured_domain(cells).withheld == ()
