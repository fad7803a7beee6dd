"""Routing, dispatch and grouped projections against plain definitions; what is alive at FC2's sum."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.profiler import profile

from harness._comm import single_process
from harness.model import ModelConfig
from harness.model._dispatch import dispatch, take_rows
from harness.model._experts import Experts
from harness.model._grouped import (
    GroupedLora,
    fused_grouped_outer,
    fused_grouped_product,
    grouped_linear,
    plain_grouped_outer,
    plain_grouped_product,
)
from harness.model._naive import naive_experts
from harness.model._router import route
from harness.model._swiglu import swiglu
from harness.model._weights import WeightSource, section_index

SOURCE = WeightSource(1, torch.device("cpu"), torch.float64)
CONFIG = ModelConfig(
    hidden=11,
    layers=1,
    heads=1,
    kv_heads=1,
    head_dim=4,
    ffn=0,
    vocab=9,
    moe_experts=5,
    moe_topk=3,
    moe_ffn=7,
    moe_shared_ffn=6,
    lora_rank=2,
    dtype="float64",
)


def draw(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()


@pytest.mark.parametrize("shared", [0, 6])
@pytest.mark.parametrize("tokens", [1, 13])
def test_the_layer_is_what_each_token_gets_from_its_experts_one_by_one_with_all_gradients(tokens, shared):
    layer = Experts(SOURCE, "e", replace(CONFIG, moe_shared_ffn=shared), single_process())
    x, weights = draw(tokens, 11), draw(tokens, 11).detach()
    found, expected = layer(x), naive_experts(layer, x)
    torch.testing.assert_close(found, expected)
    inputs = [x, *layer.parameters()]
    for one, other in zip(
        torch.autograd.grad(found, inputs, weights),
        torch.autograd.grad(expected, inputs, weights),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


def test_equally_probable_experts_are_chosen_by_index_and_weights_sum_to_one():
    router = torch.zeros(6, 4, dtype=torch.float64)
    router[3] = 1.0
    found = route(torch.ones(2, 4, dtype=torch.float64), router, 4)
    assert found.expert.tolist() == [[3, 0, 1, 2]] * 2
    torch.testing.assert_close(found.weight.sum(-1), torch.ones(2, dtype=torch.float64))
    assert found.weight[0, 0] > found.weight[0, 1] == found.weight[0, 3]


def test_narrow_models_route_in_float32():
    x, router = draw(50, 16, dtype=torch.bfloat16).detach(), draw(8, 16, dtype=torch.bfloat16).detach()
    found, expected = route(x, router, 2), route(x.float(), router.float(), 2)
    assert torch.equal(found.expert, expected.expert)
    assert torch.equal(found.weight, expected.weight.to(torch.bfloat16))


def test_dispatch_sorts_choices_by_expert_and_keeps_tokens_in_order():
    chosen = torch.tensor([[2, 0], [0, 3], [2, 3], [0, 2]])
    way = dispatch(chosen, 4, single_process().ep)
    assert chosen.reshape(-1)[way.by_expert.index].tolist() == [0, 0, 0, 2, 2, 2, 3, 3]
    assert (way.by_expert.index // 2).tolist() == [0, 1, 3, 0, 2, 3, 1, 2]
    assert (way.sizes, way.send, way.receive) == ((3, 0, 3, 2), (8,), (8,))
    assert way.by_local is not None
    assert way.by_local.index.tolist() == list(range(8))


def test_rows_of_several_sources_are_brought_together_by_expert():
    from harness.model._dispatch import _expert_first

    # Source 0 sent 2 rows for the first expert and 1 for the second; source 1 sent 0 and 3.
    assert _expert_first([[2, 1], [0, 3]]).tolist() == [0, 1, 2, 3, 4, 5]
    assert _expert_first([[1, 2], [2, 1]]).tolist() == [0, 3, 4, 1, 2, 5]
    assert _expert_first([[0, 0], [0, 0]]).tolist() == []


def test_taking_rows_is_indexing_with_its_gradient():
    x, index = draw(3, 4), torch.tensor([5, 0, 3, 1, 4, 2])
    found = take_rows(x, index, index.argsort(), copies=2)
    expected = x.repeat_interleave(2, 0)[index]
    assert torch.equal(found, expected)
    weights = draw(6, 4).detach()
    torch.testing.assert_close(
        torch.autograd.grad(found, x, weights), torch.autograd.grad(expected, x, weights)
    )


def test_the_fused_activation_is_the_composed_one_with_its_gradient_bit_for_bit():
    both = draw(5, 14)
    gate, value = both.chunk(2, -1)
    expected = torch.nn.functional.silu(gate) * value
    found, weights = swiglu(both), draw(5, 7).detach()
    assert torch.equal(found, expected)
    assert torch.equal(
        *torch.autograd.grad(found, both, weights), *torch.autograd.grad(expected, both, weights)
    )


@pytest.mark.parametrize("sizes", [[2, 0, 3], [0, 0, 0], [5, 0, 0]])
def test_a_grouped_projection_is_a_projection_for_each_expert_with_its_gradients(sizes):
    x, weight = draw(sum(sizes), 4), draw(3, 6, 4)
    found = grouped_linear(x, weight, sizes)
    expected = torch.cat([part @ w.t() for part, w in zip(x.split(sizes), weight, strict=True)])
    torch.testing.assert_close(found, expected)
    weights = draw(sum(sizes), 6).detach()
    for one, other in zip(
        torch.autograd.grad(found, [x, weight], weights),
        torch.autograd.grad(expected, [x, weight], weights),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_one_kernel_form_is_the_plain_one(dtype):
    sizes = [3, 0, 7, 2]
    x, weight = draw(12, 16, dtype=dtype).detach(), draw(4, 8, 16, dtype=dtype).detach()
    grad = draw(12, 8, dtype=dtype).detach()
    for found, expected in (
        (fused_grouped_product(x, weight, sizes), plain_grouped_product(x, weight, sizes)),
        (
            fused_grouped_product(grad, weight.mT, sizes),
            plain_grouped_product(grad, weight.mT, sizes),
        ),
        (fused_grouped_outer(grad, x, sizes), plain_grouped_outer(grad, x, sizes)),
    ):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("split", ["column", "row"])
def test_experts_split_over_ranks_and_widths_make_up_the_whole(split):
    shape = {"inputs": 6, "outputs": 4, "rank": 2, "alpha": 3.0, "split": split, "label": "p"}
    width = 4 if split == "column" else 6
    whole_index = section_index([width], 1, [0])
    whole = GroupedLora(SOURCE, "p", chosen=range(4), index=whole_index, **shape)
    x = draw(9, 6)
    expected = whole(x, [2, 3, 1, 3])
    parts = []
    for part in (0, 1):
        index = section_index([width], 2, [part])
        held = GroupedLora(SOURCE, "p", chosen=range(2, 4), index=index, **shape)
        for name in ("lora_a", "lora_b"):
            assert torch.equal(getattr(held, name), held.take(name, getattr(whole, name)))
        parts.append(held(x[5:] if split == "column" else x[5:, index], [1, 3]))
    together = torch.cat(parts, 1) if split == "column" else parts[0] + parts[1]
    torch.testing.assert_close(together, expected[5:])


def alive_at_fc2_sum(layer: Experts, x: Tensor) -> list[int]:
    """Sizes in bytes of what the layer allocated and holds when FC2's sum has been computed."""
    with profile(profile_memory=True) as profiler:
        layer(x)
    events, pending = [], list(profiler.profiler.kineto_results.experimental_event_tree())
    while pending:
        event = pending.pop()
        events.append(event)
        pending.extend(event.children)
    (end,) = [event.end_time_ns for event in events if event.name == "expert.fc2.sum"]
    alive: dict[int, int] = {}
    for event in sorted(events, key=lambda event: event.start_time_ns):
        if event.name == "[memory]" and event.start_time_ns <= end:
            size, at = event.extra_fields.alloc_size, event.extra_fields.ptr
            if size > 0:
                alive[at] = size
            else:
                alive.pop(at, None)
    return list(alive.values())


@pytest.mark.parametrize("grad", [True, False])
def test_seven_buffers_are_alive_at_the_sum_of_fc2(grad):
    hidden, width, topk, tokens = 80, 48, 3, 257
    config = replace(CONFIG, hidden=hidden, moe_ffn=width, moe_topk=topk, dtype="float32")
    layer = Experts(replace(SOURCE, dtype=torch.float32), "e", config, single_process())
    x = torch.randn(tokens, hidden)
    with torch.set_grad_enabled(grad):
        found = alive_at_fc2_sum(layer, x)
    row = tokens * topk * 4
    large = sorted(size for size in found if size >= row * width)
    assert large == sorted([row * hidden] * 5 + [row * 2 * width, row * width])
    assert sum(large) == tokens * topk * (3 * width + 5 * hidden) * 4
