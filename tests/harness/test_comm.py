"""The collectives on real ranks, and what holds without any."""

import pytest
import torch

from harness._comm import (
    all_gather,
    all_reduce,
    barrier,
    close_groups,
    exchange,
    gather,
    gather_control,
    gather_control_text,
    open_groups,
    reduce,
    replicate,
    single_process,
)
from schemas import InvalidInputError


@pytest.mark.parametrize(("tp", "cp"), [(2, 1), (1, 2)])
def test_values_and_gradients_of_every_collective_on_two_ranks(run_ranks, tp: int, cp: int):
    run_ranks("collectives", tp=tp, cp=cp)


def test_everything_is_the_identity_on_one_rank():
    groups = single_process()
    x = torch.arange(6.0).view(3, 2)
    for function in (replicate, reduce, gather, exchange, all_gather, all_reduce):
        assert function(x, groups.tp) is x
    assert gather_control(groups, [3, 4]) == [[3, 4]]
    assert gather_control_text(groups, "done") == ["done"]
    barrier(groups)
    close_groups(groups)
    assert groups.last.sequence == 0


@pytest.mark.parametrize(("tp", "cp", "rank", "world"), [(2, 1, 0, 1), (2, 2, 0, 2), (1, 2, 2, 2)])
def test_a_shape_that_is_not_the_world_is_refused(tp: int, cp: int, rank: int, world: int):
    with pytest.raises(InvalidInputError, match="start as many processes as the shape has ranks"):
        open_groups(tp=tp, cp=cp, rank=rank, world_size=world, init_method="file:///nowhere")
