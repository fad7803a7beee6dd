import pytest

from harness import load_campaign
from harness.recipes import split_cells
from schemas import InvalidInputError, ParallelShape


def test_cells_are_grouped_by_device_and_shape_in_the_manifests_order(manifest) -> None:
    plan = manifest(["a", "b"], [{}, {"tp": 2, "ep": 2}], devices=["cpu", "cuda"])
    found = split_cells(plan)
    assert [(each.name, each.device) for each in found] == [
        ("tp1cp1-cpu", "cpu"),
        ("tp1cp1-cuda", "cuda"),
        ("tp2cp1ep2-cpu", "cpu"),
        ("tp2cp1ep2-cuda", "cuda"),
    ]
    assert found[2].shape == ParallelShape(tp=2, ep=2)
    assert found[0].portions == (("a|m|L2|tp1|cp1", "b|m|L2|tp1|cp1"),)


@pytest.mark.parametrize("cells_per_job", [None, 1, 2, 3, 7, 10_000])
def test_portions_are_a_topologys_cells_in_order_and_none_is_larger_than_asked(cells_per_job) -> None:
    manifest = load_campaign("cpu-full")
    for topology in split_cells(manifest, cells_per_job):
        cells = [cell.identity.key for cell in manifest.cells if cell.identity.shape == topology.shape]
        assert [key for portion in topology.portions for key in portion] == cells
        assert all(0 < len(portion) <= (cells_per_job or len(cells)) for portion in topology.portions)
        names = [topology.portion_name(number) for number in range(len(topology.portions))]
        assert len(set(names)) == len(names)
        assert (names == [topology.name]) == (len(names) == 1)


def test_no_portion_is_smaller_than_a_cell(manifest) -> None:
    with pytest.raises(InvalidInputError, match="1 or more"):
        split_cells(manifest(["a"]), 0)
