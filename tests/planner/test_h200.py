"""The H200 certificate and one of another device, in one bundle: each runtime gets its own table."""

import json
from dataclasses import replace

import pytest

from planner import (
    DeviceClass,
    ModelGeometry,
    OutsideDomainWarning,
    ParallelShape,
    RuntimeFacts,
    load,
)
from planner._bundle import unmeasured_parts
from planner._domain import GIB
from schemas import CoefficientBundle, canonical_json
from tracker.certificate import render_statement
from tracker.registry import make_bundle


@pytest.fixture
def both(h200_statement, write_bundle):
    """A loaded version of the H200 table and a CPU table, and the cells of the first."""
    written = write_bundle("cpu")
    (written.folder / f"certificate-{h200_statement.digest[:12]}.json").write_bytes(
        render_statement(h200_statement)
    )
    bundle = CoefficientBundle.parse(
        {"schema": "layoutledger.coefficients.v1", "tables": [*tables(written), *tables_of(h200_statement)]},
        where="test",
    )
    written.path.write_bytes(canonical_json(bundle.plain()))
    return load(written.path)


def tables(written):
    return json.loads(written.path.read_bytes())["tables"]


def tables_of(statement):
    return make_bundle([statement]).plain()["tables"]


def runtime_of(cell):
    found, shape = cell.fingerprint, cell.identity.shape
    return RuntimeFacts(
        DeviceClass(found.device_class.capability, found.device_class.memory),
        found.dtype,
        ModelGeometry(**found.geometry.model_dump()),
        ParallelShape(shape.tp, shape.cp, shape.ep, shape.etp),
        layers=cell.facts.layers,
        gdn_layers=cell.facts.gdn_layers,
    )


def test_each_runtime_gets_its_own_table(both, h200_statement, dense_table, cpu_runtime):
    for cell in h200_statement.predicate.cells:
        assert both.select_scoring(runtime_of(cell)).coefficients == dense_table
    assert both.select_scoring(cpu_runtime).table_id == "cpu"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"device": DeviceClass.cuda(9, 0, 80 * GIB)}, "device class"),
        ({"dtype": "float32"}, "dtype"),
        ({"shape": ParallelShape(tp=8, cp=8)}, "parallel shape"),
        ({"shape": ParallelShape(ep=2)}, "parallel shape"),
        ({"grad": False}, "backward"),
    ],
)
def test_everything_else_gets_version_1(both, h200_statement, change, why):
    runtime = replace(runtime_of(h200_statement.predicate.cells[0]), **change)
    with pytest.warns(OutsideDomainWarning, match=why):
        assert both.select_scoring(runtime).coefficients is None


@pytest.mark.parametrize("change", [{"hidden_size": 2048}, {"moe_experts": 64, "moe_topk": 8}])
def test_another_width_and_experts_get_version_1(both, h200_statement, change):
    runtime = runtime_of(h200_statement.predicate.cells[0])
    with pytest.warns(OutsideDomainWarning, match="geometry"):
        other = replace(runtime, geometry=replace(runtime.geometry, **change))
        assert both.select_scoring(other).coefficients is None


def test_the_published_domain_is_exactly_what_its_cells_measured(h200_statement):
    certificate = h200_statement.predicate
    assert unmeasured_parts(certificate.domain, certificate) == []
    first = certificate.domain.shapes[0]
    wider = certificate.domain.model_copy(
        update={"shapes": (*certificate.domain.shapes, first.model_copy(update={"tp": 16}))}
    )
    assert len(unmeasured_parts(wider, certificate)) == len(certificate.domain.geometries)
    bare = certificate.domain.model_copy(update={"dtypes": (*certificate.domain.dtypes, "float32")})
    assert unmeasured_parts(bare, certificate) == ["float32"]


def test_pairs_that_no_cell_joins_are_withheld(both, h200_statement):
    certificate = h200_statement.predicate
    for pair in certificate.domain.withheld:
        runtime = replace(
            runtime_of(certificate.cells[0]),
            geometry=ModelGeometry(**pair.geometry.model_dump()),
            shape=ParallelShape(**pair.shape.model_dump()),
        )
        with pytest.warns(OutsideDomainWarning, match="withheld"):
            assert both.select_scoring(runtime).coefficients is None
