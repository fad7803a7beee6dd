"""The chunked delta rule against the token-by-token recurrence, along a chain and down a tree."""

import pytest
import torch

from harness._deltaplan import DeltaLevel, ScanStep
from harness.model._delta_rule import Chunks, tree_delta_rule
from harness.model._naive import delta_recurrence

HEADS, KEY, VALUE = 2, 5, 3


def draw(tokens: int) -> list[torch.Tensor]:
    """q, k, v, g, beta by token: unit keys, decays from almost none to almost all."""
    torch.manual_seed(tokens)
    q, k = torch.randn(2, tokens, HEADS, KEY, dtype=torch.float64)
    v = torch.randn(tokens, HEADS, VALUE, dtype=torch.float64)
    g = -torch.rand(tokens, HEADS, dtype=torch.float64) * 9
    beta = torch.rand(tokens, HEADS, dtype=torch.float64)
    return [tensor.requires_grad_() for tensor in (q, k / k.norm(dim=-1, keepdim=True), v, g, beta)]


def recurrence(tokens: list[torch.Tensor], index: list[int]) -> torch.Tensor:
    """[len(index), heads, value] along one row."""
    q, k, v, g, beta = (tensor[index] for tensor in tokens)
    heads = [delta_recurrence(q[:, h], k[:, h], v[:, h], g[:, h].exp(), beta[:, h]) for h in range(HEADS)]
    return torch.stack(heads, 1)


def chunked(tokens: list[torch.Tensor], slots: list[int], chunk: int) -> Chunks:
    """Chunks of the tokens in slot order; -1 is padding."""
    zeros = [torch.cat([tensor, torch.zeros_like(tensor[:1])]) for tensor in tokens]
    parts = [tensor[slots].view(-1, chunk, *tensor.shape[1:]).transpose(1, 2) for tensor in zeros]
    return Chunks(*parts)


@pytest.mark.parametrize("chunk", [1, 3, 4, 16])
def test_a_chain_equals_the_recurrence_with_its_gradients(chunk):
    tokens = draw(11)
    count = -(-11 // chunk)
    steps = tuple(ScanStep(1, int(step + 1 < count), int(step + 1 < count)) for step in range(count))
    slots = [*range(11), *[-1] * (count * chunk - 11)]
    found = tree_delta_rule(chunked(tokens, slots, chunk), (DeltaLevel(count, 1, steps, None),))
    found = found.transpose(1, 2).flatten(0, 1)[:11]
    expected = recurrence(tokens, list(range(11)))
    torch.testing.assert_close(found, expected)
    weights = torch.randn_like(expected)
    for one, other in zip(
        torch.autograd.grad(found, tokens, weights),
        torch.autograd.grad(expected, tokens, weights),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


def test_children_begin_with_their_parents_end_state():
    tokens = draw(8)
    # Roots: tokens 0-2 in two chunks of 2, token 3 in one; a child of the second, then one of the first.
    levels = (
        DeltaLevel(3, 2, (ScanStep(2, 2, 1), ScanStep(1, 1, 0)), None),
        DeltaLevel(2, 2, (ScanStep(2, 0, 0),), torch.tensor([0, 1])),
    )
    slots = [0, 1, 3, -1, 2, -1, 4, 5, 6, 7]
    found = tree_delta_rule(chunked(tokens, slots, 2), levels).transpose(1, 2).flatten(0, 1)
    for row, at in (([3, 4, 5], [2, 6, 7]), ([0, 1, 2, 6, 7], [0, 1, 4, 8, 9])):
        torch.testing.assert_close(found[at], recurrence(tokens, row))
