"""What one rank computes of a packed batch: its tokens, attention blocks, targets.

Under context parallelism the packed sequence, padded to 2*cp equal chunks, is dealt in zigzag: rank c holds
chunks c and 2*cp-1-c, so that each has an early (cheap) and a late (dear) part of a causal sequence.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask

from harness._comm import Groups
from harness._deltaplan import DeltaPlan, delta_plan, token_levels
from harness._pack import Ints, PackedRows
from harness._sight import sight
from harness.model._config import ModelConfig
from harness.model._fla import fla_serves
from schemas import InvalidInputError


@dataclass(frozen=True, slots=True)
class AttentionBlock:
    """Local queries of one segment (or of padding) and the key blocks that they see, root first.

    `mask` [queries, keys] is given only where neither a plain causal square nor full sight will do.
    """

    keys: tuple[int, ...]
    causal: bool
    mask: Tensor | None


@dataclass(frozen=True, slots=True)
class Targets:
    """Next-token targets whose logits this rank computes, of `total` in the batch.

    `hidden` [K] are local token rows, ascending and distinct; for each of M targets `row` indexes them,
    `token` is the next token, `count` how many rows of the batch have it.
    """

    hidden: Tensor
    row: Tensor
    token: Tensor
    count: Tensor
    total: int


@dataclass(frozen=True, slots=True)
class ShardPlan:
    """The index tensors of one rank, built once, outside every timed part.

    `tokens`, `positions` are [local], padding included; `restore` [T] takes gathered tokens (rank-major) back
    to the packed order, None where they already are in it. Attention goes by `sight` on CUDA, else by
    `blocks`: `query_sizes`, `key_sizes` and `blocks` are then empty.
    """

    packed: PackedRows
    tokens: Tensor
    positions: Tensor
    restore: Tensor | None
    query_sizes: tuple[int, ...]
    key_sizes: tuple[int, ...]
    blocks: tuple[AttentionBlock, ...]
    targets: Targets
    delta: DeltaPlan | None
    sight: BlockMask | None


@dataclass(frozen=True, slots=True)
class _Deal:
    """Who holds which packed token: gathered (rank-major) order and its inverse, -1 at padding."""

    chunk: int
    size: int
    to_packed: Ints
    from_packed: Ints


def _deal(tokens: int, size: int) -> _Deal:
    if size == 1:
        whole = np.arange(tokens, dtype=np.int64)
        return _Deal(tokens, 1, whole, whole)
    chunk = -(-tokens // (2 * size))
    held = [held for rank in range(size) for held in (rank, 2 * size - 1 - rank)]
    padded = np.concatenate([np.arange(c * chunk, (c + 1) * chunk, dtype=np.int64) for c in held])
    to_packed = np.where(padded < tokens, padded, -1)
    from_packed = np.empty(tokens, dtype=np.int64)
    real = to_packed >= 0
    from_packed[to_packed[real]] = np.flatnonzero(real)
    return _Deal(chunk, size, to_packed, from_packed)


def shard_plan(
    packed: PackedRows, config: ModelConfig, groups: Groups, device: torch.device | str = "cpu"
) -> ShardPlan:
    """The part of a packed batch that this rank computes.

    Raises:
        InvalidInputError: a token outside the model's vocabulary.
    """
    if packed.tokens.size and not 0 <= packed.tokens.min() <= packed.tokens.max() < config.vocab:
        raise InvalidInputError(
            f"rows hold tokens from {packed.tokens.min()} to {packed.tokens.max()}, but the model's "
            f"vocabulary is 0 to {config.vocab - 1}; map the tokens into it first"
        )
    deal = _deal(len(packed.tokens), groups.cp.size)
    local = deal.to_packed.reshape(groups.cp.size, -1)[groups.cp.rank]
    on_cuda = torch.device(device).type == "cuda"
    query_sizes, key_sizes, blocks = ((), (), ()) if on_cuda else _attention(packed, deal, local, device)
    return ShardPlan(
        packed=packed,
        tokens=_move(np.where(local >= 0, packed.tokens[local], 0), device),
        positions=_move(np.where(local >= 0, packed.positions[local], 0), device),
        restore=None if deal.size == 1 else _move(deal.from_packed, device),
        query_sizes=query_sizes,
        key_sizes=key_sizes,
        blocks=blocks,
        targets=_targets(packed, local, groups, device),
        delta=_delta(packed, deal, config, device) if config.uses_gdn else None,
        sight=sight(packed, local, deal.to_packed, device).block_mask() if on_cuda else None,
    )


def _delta(packed: PackedRows, deal: _Deal, config: ModelConfig, device: torch.device | str) -> DeltaPlan:
    plan = delta_plan(packed, deal.from_packed, deal.to_packed, config, device)
    if not fla_serves(torch.device(device), config.dtype):
        return plan
    return replace(plan, whole=token_levels(packed, deal.from_packed, deal.to_packed, plan, device))


def _attention(
    packed: PackedRows, deal: _Deal, local: Ints, device: torch.device | str
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[AttentionBlock, ...]]:
    """Cut the packed sequence where segments or chunks end: each block has one segment and one owner."""
    ends = {segment.offset + segment.length for segment in packed.segments}
    ends |= set(range(deal.chunk, len(packed.tokens), deal.chunk))
    bounds = [0, *sorted(ends)]
    starts = np.array(bounds[:-1])
    sizes = np.diff(bounds)
    of_segment = [
        range(
            int(np.searchsorted(starts, segment.offset)),
            int(np.searchsorted(starts, segment.offset + segment.length)),
        )
        for segment in packed.segments
    ]
    keys: list[tuple[int, ...]] = [()] * len(starts)
    for index in range(len(packed.segments)):
        above = [block for ancestor in packed.ancestors(index) for block in of_segment[ancestor]]
        for block in of_segment[index]:
            keys[block] = (*above, *range(of_segment[index].start, block + 1))
    masks: dict[tuple[int, int], Tensor] = {}
    queries: list[int] = []
    blocks: list[AttentionBlock] = []
    for size, block in _local_blocks(local, starts):
        queries.append(size)
        if block < 0:
            # Padding must stay in the graph: a rank of padding alone still takes part in every collective.
            blocks.append(AttentionBlock((0,), False, None))
            continue
        seen = int(sizes[list(keys[block])].sum())
        plain = seen == size or size == 1
        mask = None if plain else masks.setdefault((size, seen), _lower_right(size, seen, device))
        blocks.append(AttentionBlock(keys[block], seen == size, mask))
    return tuple(queries), tuple(int(size) for size in sizes), tuple(blocks)


def _local_blocks(local: Ints, starts: Ints) -> list[tuple[int, int]]:
    """Runs of local tokens of one block, as (size, block); block -1 for padding."""
    block = np.where(local >= 0, np.searchsorted(starts, local, side="right") - 1, -1)
    cuts = np.flatnonzero(np.diff(block)) + 1
    runs = np.split(block, cuts)
    return [(len(run), int(run[0])) for run in runs if len(run)]


def _lower_right(queries: int, keys: int, device: torch.device | str) -> Tensor:
    """Causal mask whose last query sees every key, bool [queries, keys]."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def _targets(packed: PackedRows, local: Ints, groups: Groups, device: torch.device | str) -> Targets:
    """Targets of the local tokens; under tensor parallelism the tokens' logits are shared out evenly."""
    place = np.full(len(packed.tokens), -1, dtype=np.int64)
    place[local[local >= 0]] = np.flatnonzero(local >= 0)
    mine = place[packed.target_index]
    rows = np.unique(mine[mine >= 0])
    rows = np.array_split(rows, groups.tp.size)[groups.tp.rank]
    chosen = np.isin(mine, rows)
    return Targets(
        hidden=_move(rows, device),
        row=_move(np.searchsorted(rows, mine[chosen]), device),
        token=_move(packed.target_token[chosen], device),
        count=_move(packed.target_count[chosen], device),
        total=packed.total_targets,
    )


def _move(array: Ints, device: torch.device | str) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.int64)).to(device)
