"""A diff names what changed, and nothing else."""

from tracker.certificate import diff_certificates


def test_a_certificate_does_not_differ_from_itself(statement):
    assert diff_certificates(statement.predicate, statement.predicate).empty


def test_cells_added_removed_and_changed_are_told_apart(statement):
    body = statement.predicate
    first, second, third = body.cells[:3]
    candidates = (
        first.candidates[0].model_copy(update={"median_ms": first.candidates[0].median_ms * 1.5}),
        *first.candidates[1:],
    )
    changed = first.model_copy(update={"candidates": candidates})
    before = body.model_copy(update={"cells": (first, second, *body.cells[3:])})
    after = body.model_copy(update={"cells": (changed, third, *body.cells[3:])})
    found = diff_certificates(before, after)
    assert (found.added, found.removed) == ((third.cell,), (second.cell,))
    assert found.changed == {first.cell: (f"candidate {candidates[0].label}",)}
    assert found.coefficients == {} and found.rules == ()


def test_another_table_shows_its_coefficients_and_what_it_selects_otherwise(statement):
    body = statement.predicate
    table = {name: value for name, value in body.table.items() if name != "gdn_level"} | {"gdn_level_tp": 1}
    found = diff_certificates(body, body.model_copy(update={"table": table}))
    assert found.coefficients["gdn_level"] == (body.table["gdn_level"], None)
    assert found.coefficients["gdn_level_tp"] == (body.table["gdn_level_tp"], 1)
    assert set(found.coefficients) == {"gdn_level", "gdn_level_tp"}
    assert found.selections
    assert all(change.before != change.after for change in found.selections)
    assert found.changed == {} and found.added == ()


def test_changed_rules_are_named(statement):
    body = statement.predicate
    after = body.model_copy(update={"required_samples": body.required_samples + 1})
    assert diff_certificates(body, after).rules == ("required_samples",)
