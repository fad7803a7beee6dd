from dataclasses import replace
from types import MappingProxyType

import pytest

from fit import judge, judge_hand_set
from planner import CoefficientVersion, Domain
from planner._version import Table
from schemas import Gates, IncompleteEvidenceError
from tracker._fitting import fit_cells
from tracker.drift import judge_version, promoted_version
from tracker.drift._version import runtime_facts


@pytest.fixture(scope="module")
def cells(ledger):
    return ledger.certified_cells("known")


@pytest.fixture(scope="module")
def version(cells, campaigns) -> CoefficientVersion:
    """The true table, admitted on everything that was measured."""
    facts = [runtime_facts(cell) for cell in cells]
    domain = Domain(
        device_classes=frozenset(each.device for each in facts),
        dtypes=frozenset(each.dtype for each in facts),
        geometries=frozenset(each.geometry for each in facts),
        shapes=frozenset(each.shape for each in facts),
        withheld=MappingProxyType({}),
    )
    table = Table("known-table", campaigns.TRUTH, "d", domain, "c")
    return CoefficientVersion(2, "digest", (table,), "", "test")


def test_on_its_own_truth_a_version_passes_without_regret(version, cells):
    found = judge_version(version, "champion", cells, cells, Gates())
    (table,) = found.tables
    assert found.passed and table.passed
    assert (found.version, found.alias, table.table_id, table.outside) == (2, "champion", "known-table", "")
    assert table.after == table.before == judge(fit_cells(cells), version.tables[0].coefficients)
    assert table.after.max_regret_pct == 0
    assert "1 held-out cells" in table.gates[0].detail


def test_under_another_truth_it_fails_its_gates(version, cells, ledger):
    after = ledger.certified_cells("later")
    found = judge_version(version, None, cells, after, Gates())
    assert not found.passed
    assert any(gate.gate == "regret-max" and not gate.passed for gate in found.tables[0].gates)
    assert found.tables[0].before.max_regret_pct == 0 < found.tables[0].after.max_regret_pct


def test_where_nothing_is_held_out_all_cells_are_judged(version, cells):
    training = tuple(cell for cell in cells if not cell.held_out)
    (table,) = judge_version(version, None, (), training, Gates()).tables
    assert table.before is None
    assert f"{len(training)} held-out cells" in table.gates[0].detail


def test_cells_outside_the_domain_are_scored_by_version_1_and_vouched_for_by_no_one(version, cells):
    narrow = replace(version.tables[0], domain=replace(version.tables[0].domain, dtypes=frozenset({"int8"})))
    found = judge_version(replace(version, tables=(narrow,)), None, cells, cells, Gates())
    (table,) = found.tables
    assert not found.passed
    assert (table.table_id, table.gates) == ("hand-set", ())
    assert "dtype" in table.outside
    assert table.after == judge_hand_set(fit_cells(cells))


def test_version_1_is_judged_as_any_other(cells):
    found = judge_version(CoefficientVersion(1, "d", (), "", "test"), None, cells, cells, Gates())
    (table,) = found.tables
    assert (table.table_id, table.outside) == ("hand-set", "")
    assert table.gates


def test_without_a_later_cell_there_is_nothing_to_judge_by(version, cells):
    with pytest.raises(IncompleteEvidenceError, match="nothing to judge"):
        judge_version(version, None, cells, (), Gates())


def test_before_anything_is_registered_nothing_is_promoted(ledger):
    assert promoted_version(ledger) is None
