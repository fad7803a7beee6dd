"""The collectives on real ranks, and what holds without any."""

import pytest
import torch

from harness._comm import (
    all_gather,
    all_reduce,
    axis_ranks,
    barrier,
    close_groups,
    exchange,
    exchange_rows,
    gather,
    gather_control,
    gather_control_text,
    open_groups,
    reduce,
    replicate,
    single_process,
)
from harness._lastcall import LastCollective
from schemas import InvalidInputError


@pytest.mark.parametrize(("tp", "cp"), [(2, 1), pytest.param(1, 2, marks=pytest.mark.slow)])
def test_values_and_gradients_of_every_collective_on_two_ranks(run_ranks, tp: int, cp: int):
    run_ranks("collectives", tp=tp, cp=cp)


def test_everything_is_the_identity_on_one_rank():
    groups = single_process()
    x = torch.arange(6.0).view(3, 2)
    for function in (replicate, reduce, gather, exchange, all_gather, all_reduce):
        assert function(x, groups.tp) is x
    assert exchange_rows(x, groups.ep, [3], [3]) is x
    assert gather_control(groups, [3, 4]) == [[3, 4]]
    assert gather_control_text(groups, "done") == ["done"]
    barrier(groups)
    close_groups(groups)
    assert groups.last.sequence == 0


@pytest.mark.parametrize(("tp", "cp", "rank", "world"), [(2, 1, 0, 1), (2, 2, 0, 2), (1, 2, 2, 2)])
def test_a_shape_that_is_not_the_world_is_refused(tp: int, cp: int, rank: int, world: int):
    with pytest.raises(InvalidInputError, match="start as many processes as the shape has ranks"):
        open_groups(tp=tp, cp=cp, rank=rank, world_size=world, init_method="file:///nowhere")


def test_a_world_of_one_keeps_the_record_it_is_given(tmp_path):
    last = LastCollective(tmp_path / "rank0")
    groups = open_groups(tp=1, cp=1, rank=0, world_size=1, init_method="file:///nowhere", last=last)
    assert groups.last is last
    assert all(axis.last is last for axis in (groups.tp, groups.cp, groups.ep, groups.etp, groups.edp))


def test_expert_axes_split_the_ranks_of_the_dense_ones():
    assert axis_ranks(tp=2, cp=2, ep=2, etp=1) == {
        "tp": [[0, 1], [2, 3]],
        "cp": [[0, 2], [1, 3]],
        "ep": [[0, 1], [2, 3]],
        "etp": [[0], [1], [2], [3]],
        "edp": [[0, 2], [1, 3]],
    }
    found = axis_ranks(tp=2, cp=2, ep=2, etp=2)
    assert (found["ep"], found["etp"]) == ([[0, 2], [1, 3]], [[0, 1], [2, 3]])
    assert found["edp"] == [[0], [1], [2], [3]]
    assert axis_ranks(tp=1, cp=4, ep=4, etp=1)["ep"] == [[0, 1, 2, 3]]


@pytest.mark.parametrize(("ep", "etp"), [(4, 1), (1, 4), (2, 2)])
def test_expert_axes_that_do_not_fit_are_refused(ep: int, etp: int):
    with pytest.raises(InvalidInputError, match="etp must divide tp"):
        open_groups(tp=2, cp=1, ep=ep, etp=etp, rank=0, world_size=2, init_method="file:///nowhere")
