"""Next-token loss over targets of a packed batch, chunk by chunk where the logits would be large."""

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from harness._shard import Targets

# Logits of one chunk: 2^27 values, half a gigabyte in float32.
_LOGITS_AT_ONCE = 2**27


def next_token_loss(hidden: Tensor, head: Tensor, targets: Targets) -> Tensor:
    """Share of this rank in the mean next-token loss: hidden [local tokens, H], head [vocabulary, H].

    A shared token's logits are computed once and serve all its targets, weighted by rows.
    """
    rows = hidden.index_select(0, targets.hidden)
    at_once = max(1, _LOGITS_AT_ONCE // head.shape[0])
    if rows.shape[0] <= at_once:
        total = _weighted(rows, head, targets.row, targets.token, targets.count)
    else:
        total = _in_chunks(rows, head, targets, at_once)
    return total / max(1, targets.total)


def _in_chunks(rows: Tensor, head: Tensor, targets: Targets, at_once: int) -> Tensor:
    total = rows.new_zeros((), dtype=torch.float32)
    for first, part in enumerate(rows.split(at_once)):
        low, high = torch.searchsorted(
            targets.row, torch.tensor([first * at_once, (first + 1) * at_once], device=rows.device)
        ).tolist()
        span = slice(low, high)
        args = (part, head, targets.row[span] - first * at_once, targets.token[span], targets.count[span])
        total = total + checkpoint(_weighted, *args, use_reentrant=False)
    return total


def _weighted(rows: Tensor, head: Tensor, row: Tensor, token: Tensor, count: Tensor) -> Tensor:
    logits = (rows @ head.t()).to(torch.promote_types(rows.dtype, torch.float32))
    normalizer = torch.logsumexp(logits, -1)
    chosen = logits.view(-1).index_select(0, row * head.shape[0] + token)
    return ((normalizer.index_select(0, row) - chosen) * count).sum()
