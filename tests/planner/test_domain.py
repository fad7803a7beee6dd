from dataclasses import fields, replace

import pytest

from planner import DeviceClass, ModelGeometry, ParallelShape, RuntimeFacts, ScoringFacts, memory_bucket
from planner._bundle import plain_domain
from planner._domain import GIB
from schemas import DeviceClass as DeviceRecord
from schemas import Domain as DomainRecord
from schemas import Geometry as GeometryRecord
from schemas import ParallelShape as ShapeRecord
from schemas import Withheld


@pytest.fixture
def domain(h200_runtime):
    geometry = GeometryRecord(
        **{f.name: getattr(h200_runtime.geometry, f.name) for f in fields(ModelGeometry)}
    )
    return plain_domain(
        DomainRecord(
            device_classes=(DeviceRecord(capability="sm_90", memory="above-120g"),),
            dtypes=("bfloat16",),
            geometries=(geometry,),
            shapes=(ShapeRecord(cp=4), ShapeRecord(tp=2, cp=4)),
            withheld=(Withheld(geometry=geometry, shape=ShapeRecord(tp=2, cp=4), reason="drifted"),),
        )
    )


def test_admits_what_was_measured(domain, h200_runtime):
    assert domain.admits(h200_runtime)
    assert domain.refusal(h200_runtime) is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"device": DeviceClass.cuda(9, 0, 80 * GIB)}, "device class"),
        ({"device": DeviceClass.cuda(10, 0, 141 * GIB)}, "device class"),
        ({"dtype": "float16"}, "dtype float16"),
        ({"shape": ParallelShape(cp=2)}, "parallel shape"),
        ({"shape": ParallelShape(cp=4, ep=2)}, "parallel shape"),
        ({"grad": False}, "without a backward"),
        ({"shape": ParallelShape(tp=2, cp=4)}, "withheld: drifted"),
    ],
)
def test_anything_else_is_outside_and_says_why(domain, h200_runtime, change, why):
    assert why in domain.refusal(replace(h200_runtime, **change))


@pytest.mark.parametrize("field", ["hidden_size", "ffn_hidden_size", "gdn_value_heads", "moe_experts"])
def test_another_width_or_a_mixture_of_experts_is_outside(domain, h200_runtime, field):
    geometry = replace(h200_runtime.geometry, **{field: 7})
    assert "geometry" in domain.refusal(replace(h200_runtime, geometry=geometry))


def test_layers_are_facts_and_no_part_of_the_domain(domain, h200_runtime):
    assert domain.admits(replace(h200_runtime, layers=2, gdn_layers=0))


@pytest.mark.parametrize(
    ("gib", "bucket"),
    [
        (69.9, "below-70g"),
        (70, "70g-to-120g"),
        (80, "70g-to-120g"),
        (120, "70g-to-120g"),
        (120.1, "above-120g"),
    ],
)
def test_memory_buckets(gib, bucket):
    assert memory_bucket(int(gib * GIB)) == bucket


def test_the_borders_records_have_the_same_parts():
    assert [f.name for f in fields(ModelGeometry)] == list(GeometryRecord.model_fields)
    assert [f.name for f in fields(ParallelShape)] == list(ShapeRecord.model_fields)
    assert [f.name for f in fields(DeviceClass)] == list(DeviceRecord.model_fields)


def test_scoring_facts_follow_from_the_runtime(h200_runtime):
    assert h200_runtime.scoring == ScoringFacts(cp_size=4, tp_size=1, layers=32, gdn_layers=24, uses_gdn=True)


def test_a_dtype_is_named_without_its_library():
    device, geometry = DeviceClass("sm_90", "above-120g"), ModelGeometry(1, 1, 1, 1, 1)
    assert RuntimeFacts(device, "torch.bfloat16", geometry, ParallelShape(), 1).dtype == "bfloat16"
