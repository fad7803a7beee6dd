"""One training step of one layout: forward, backward, gradient sums; the unit that is timed."""

from collections.abc import Sequence

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from harness._comm import Axis, Groups, all_gather, all_reduce
from harness._pack import LayoutLike, pack_rows
from harness._shard import ShardPlan, shard_plan
from harness.model._decoder import Decoder
from harness.model._grouped import GroupedLora
from harness.model._lora import LoraLinear


def prepare(model: Decoder, rows: Sequence[ArrayLike], layout: LayoutLike) -> ShardPlan:
    """The index tensors of rows under a layout on this rank; built once, outside every timed part.

    Raises:
        InvalidInputError: the layout is not one of these rows, or a token is outside the vocabulary.
    """
    return shard_plan(pack_rows(rows, layout), model.config, model.groups, model.embedding.device)


def forward_backward(model: Decoder, plan: ShardPlan) -> float:
    """Clear gradients, forward, backward, sum gradients over ranks; the mean next-token loss of the batch.

    Every rank must call it with a plan of the same rows and layout. On return the device is synchronized (the
    loss was read) and each adapter's gradient is that of the whole batch.
    """
    for parameter in model.parameters():
        parameter.grad = None
    share = model(plan)
    share.backward()
    synchronize_gradients(model)
    return float(sum_over_ranks(share.detach(), model.groups))


def sum_over_ranks(value: Tensor, groups: Groups) -> Tensor:
    """Sum of every rank's share."""
    return all_reduce(all_reduce(value.clone(), groups.tp), groups.cp)


def synchronize_gradients(model: Decoder) -> None:
    """Sum partial gradients: unsplit adapters over tensor ranks, then all adapters over context ranks.

    Experts' adapters likewise, over expert-tensor ranks and over the replicas of an expert.
    """
    groups = model.groups
    adapters = [module for _, module in model.adapters()]
    experts = [module for module in adapters if isinstance(module, GroupedLora)]
    dense = [module for module in adapters if isinstance(module, LoraLinear)]
    for modules, split, copied in ((dense, groups.tp, groups.cp), (experts, groups.etp, groups.edp)):
        _sum_flat([p for module in modules if (p := module.partial()) is not None], split)
        _sum_flat([p for module in modules for p in (module.lora_a, module.lora_b)], copied)


def _sum_flat(parameters: list[torch.nn.Parameter], axis: Axis) -> None:
    """One collective for all of them."""
    if axis.size == 1 or not parameters:
        return
    grads = [p.grad if p.grad is not None else torch.zeros_like(p) for p in parameters]
    flat = all_reduce(torch.cat([grad.reshape(-1) for grad in grads]), axis)
    for parameter, part in zip(parameters, flat.split([g.numel() for g in grads]), strict=True):
        parameter.grad = part.view_as(parameter)


@torch.no_grad()
def per_row_logits(model: Decoder, plan: ShardPlan) -> list[Tensor]:
    """Logits of every row in caller order, each [row length, vocabulary]: to compare layouts."""
    hidden = all_gather(model.hidden(plan), model.groups.cp)
    if plan.restore is not None:
        hidden = hidden.index_select(0, plan.restore)
    packed = plan.packed
    logits = hidden @ model.head.t()
    return [
        logits.index_select(0, torch.from_numpy(packed.row_index(row)).to(logits.device))
        for row in range(len(packed.row_paths))
    ]
