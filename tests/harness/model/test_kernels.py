"""What CUDA runs, against the plain path: as written on a CPU, and fused where there is a GPU."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from harness._comm import single_process
from harness._deltaplan import token_levels
from harness._shard import ShardPlan
from harness._sight import sight
from harness._step import forward_backward, per_row_logits, prepare
from harness.model import ModelConfig, _delta, preset
from harness.model._decoder import Decoder, build_model
from harness.model._fla import chunk_kernel, fla_serves
from planner import build_prefix_tree, mandatory_candidates

HYBRID = ModelConfig(
    hidden=16,
    layers=2,
    heads=4,
    kv_heads=2,
    head_dim=4,
    ffn=12,
    vocab=20,
    attention_interval=2,
    gdn_key_heads=2,
    gdn_value_heads=4,
    gdn_key_dim=3,
    gdn_value_dim=5,
    gdn_chunk=4,
    lora_rank=2,
    dtype="float64",
)
ROWS = [
    [1, 2, 3, 4, 5, 6],
    [1, 2, 3, 4, 5, 7, 8],
    [1, 2, 3, 9],
    [1, 2, 3, 9, 10, 11, 12, 13, 14, 15],
    [16, 17],
    [1, 2, 3, 4, 5, 6],
]


def plans(model: Decoder) -> list[ShardPlan]:
    """The plan of each candidate layout."""
    return [prepare(model, ROWS, found.layout) for found in mandatory_candidates(build_prefix_tree(ROWS))]


@pytest.mark.filterwarnings("ignore:flex_attention called without")
def test_one_kernel_attention_gives_the_plain_logits():
    model = build_model(replace(HYBRID, dtype="float32"), single_process(), seed=3)
    for plan in plans(model):
        whole = np.arange(len(plan.packed.tokens))
        other = replace(plan, sight=sight(plan.packed, whole, whole, "cpu").block_mask())
        for found, expected in zip(per_row_logits(model, other), per_row_logits(model, plan), strict=True):
            torch.testing.assert_close(found, expected)


def recurrent_kernel(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    *,
    scale: float,
    initial_state: Tensor | None,
    output_final_state: bool,
    cu_seqlens: Tensor,
) -> tuple[Tensor, Tensor]:
    """The contract of `chunk_gated_delta_rule`, token by token."""
    assert output_final_state and q.shape[0] == 1
    outputs, ends = [], []
    for number, (start, end) in enumerate(
        zip(cu_seqlens[:-1].tolist(), cu_seqlens[1:].tolist(), strict=True)
    ):
        state = v.new_zeros(v.shape[2], k.shape[3], v.shape[3])
        state = state if initial_state is None else initial_state[number]
        for t in range(start, end):
            state = state * g[0, t].exp()[:, None, None]
            missing = v[0, t] - torch.einsum("hkv,hk->hv", state, k[0, t])
            state = state + torch.einsum("hk,hv->hkv", k[0, t], beta[0, t][:, None] * missing)
            outputs.append(scale * torch.einsum("hkv,hk->hv", state, q[0, t]))
        ends.append(state)
    return torch.stack(outputs).unsqueeze(0), torch.stack(ends)


def gradients(model: Decoder) -> list[Tensor]:
    return [parameter.grad.clone() for parameter in model.parameters()]


def test_kernels_for_whole_segments_get_what_the_chunks_get(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_delta, "chunk_kernel", lambda: recurrent_kernel)
    model = build_model(HYBRID, single_process(), seed=3)
    for plan in plans(model):
        assert plan.delta is not None and plan.delta.whole is None
        loss, expected = forward_backward(model, plan), gradients(model)
        order = np.arange(len(plan.packed.tokens))
        whole = token_levels(plan.packed, order, order, plan.delta, "cpu")
        other = replace(plan, delta=replace(plan.delta, whole=whole))
        assert forward_backward(model, other) == pytest.approx(loss, rel=1e-12)
        torch.testing.assert_close(gradients(model), expected)


def test_the_extra_serves_bfloat16_on_cuda_alone():
    assert not fla_serves(torch.device("cpu"), "bfloat16")
    assert not fla_serves(torch.device("cuda"), "float32")
    assert fla_serves(torch.device("cuda"), "bfloat16") == (chunk_kernel() is not None)


on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@on_cuda
@pytest.mark.parametrize("name", ["attention-small", "hybrid-small", "moe-tiny"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 2e-2), ("bfloat16", 1e-1)])
def test_a_gpu_gives_what_the_cpu_gives(name: str, dtype: str, tolerance: float):
    config = replace(preset(name), dtype=dtype)
    here = build_model(config, single_process(), seed=3)
    there = build_model(config, single_process(), seed=3, device="cuda")
    there.load_state_dict(here.state_dict())
    for layout in mandatory_candidates(build_prefix_tree(ROWS)):
        loss = forward_backward(here, prepare(here, ROWS, layout.layout))
        found = forward_backward(there, prepare(there, ROWS, layout.layout))
        assert found == pytest.approx(loss, rel=tolerance)
        for one, other in zip(gradients(there), gradients(here), strict=True):
            assert float((one.cpu() - other).norm()) <= tolerance * float(other.norm())
