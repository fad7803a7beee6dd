"""Small parts against torch's own: normalization, window convolution, loss, split projections."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as functional

from harness._shard import Targets
from harness.model import _loss
from harness.model._conv import window_conv
from harness.model._lora import LoraLinear
from harness.model._loss import next_token_loss
from harness.model._norm import rms_norm
from harness.model._weights import WeightSource, section_index

SOURCE = WeightSource(1, torch.device("cpu"), torch.float64)


def test_rms_norm_is_torchs_with_its_gradient():
    x = torch.randn(5, 7, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(5, 7, dtype=torch.float64)
    found, expected = rms_norm(x, 1e-6), functional.rms_norm(x, (7,), eps=1e-6)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(
        torch.autograd.grad(found, x, weights), torch.autograd.grad(expected, x, weights)
    )


def test_window_convolution_is_a_valid_depthwise_convolution_with_its_gradient():
    windows = torch.randn(3, 9, 4, dtype=torch.float64, requires_grad=True)
    taps = torch.randn(4, 4, dtype=torch.float64)
    expected = functional.conv1d(windows.transpose(1, 2), taps.t().unsqueeze(1), groups=4).transpose(1, 2)
    found = window_conv(windows, taps)
    torch.testing.assert_close(found, expected)
    weights = torch.randn_like(found)
    torch.testing.assert_close(
        torch.autograd.grad(found, windows, weights), torch.autograd.grad(expected, windows, weights)
    )


@pytest.mark.parametrize("logits_at_once", [1, 20, 2**27])
def test_loss_is_the_counted_cross_entropy_however_it_is_chunked(monkeypatch, logits_at_once):
    monkeypatch.setattr(_loss, "_LOGITS_AT_ONCE", logits_at_once)
    hidden = torch.randn(6, 3, requires_grad=True)
    head = torch.randn(10, 3)
    targets = Targets(
        hidden=torch.tensor([0, 2, 5]),
        row=torch.tensor([0, 1, 1, 2]),
        token=torch.tensor([9, 1, 4, 0]),
        count=torch.tensor([3, 1, 2, 1]),
        total=20,
    )
    logits = (hidden @ head.t())[[0, 2, 2, 5]]
    expected = (functional.cross_entropy(logits, targets.token, reduction="none") * targets.count).sum() / 20
    found = next_token_loss(hidden, head, targets)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(torch.autograd.grad(found, hidden), torch.autograd.grad(expected, hidden))


def test_a_rank_without_targets_has_loss_zero_and_stays_in_the_graph():
    hidden = torch.randn(2, 3, requires_grad=True)
    none = torch.zeros(0, dtype=torch.int64)
    loss = next_token_loss(hidden, torch.randn(10, 3), Targets(none, none, none, none, 4))
    loss.backward()
    assert loss.item() == 0
    assert not hidden.grad.any()


def test_parts_of_sections_make_up_the_whole():
    widths = [4, 2, 6]
    parts = [section_index(widths, 2, [part]).tolist() for part in (0, 1)]
    assert parts == [[0, 1, 4, 6, 7, 8], [2, 3, 5, 9, 10, 11]]
    assert section_index(widths, 2, [0, 1]).tolist() == parts[0] + parts[1]


@pytest.mark.parametrize("split", ["column", "row"])
def test_split_projections_make_up_the_whole_one_with_its_gradients(split):
    shape = {"inputs": 6, "outputs": 4, "rank": 2, "alpha": 3.0}
    whole = LoraLinear(SOURCE, "p", **shape)
    width = 4 if split == "column" else 6
    indices = [section_index([width], 2, [part]) for part in (0, 1)]
    parts = [LoraLinear(SOURCE, "p", split=split, index=index, **shape) for index in indices]
    x, weights = torch.randn(5, 6, dtype=torch.float64), torch.randn(5, 4, dtype=torch.float64)
    whole(x).backward(weights)
    if split == "column":
        outputs = [part(x) for part in parts]
        for output, index in zip(outputs, indices, strict=True):
            output.backward(weights[:, index])
        together = torch.cat(outputs, 1)
    else:
        outputs = [part(x[:, index]) for part, index in zip(parts, indices, strict=True)]
        for output in outputs:
            output.backward(weights)
        together = outputs[0] + outputs[1]
    torch.testing.assert_close(together, whole(x))
    summed = "lora_a" if split == "column" else "lora_b"
    torch.testing.assert_close(sum(getattr(part, summed).grad for part in parts), getattr(whole, summed).grad)
    other = "lora_b" if split == "column" else "lora_a"
    for part in parts:
        assert part.partial() is getattr(part, summed)
        torch.testing.assert_close(getattr(part, other).grad, part.take(other, getattr(whole, other).grad))


def test_weights_depend_on_seed_and_name_and_round_the_same_numbers_to_any_dtype():
    one = SOURCE.normal("a", (3, 2), 0.5)
    assert torch.equal(one, SOURCE.normal("a", (3, 2), 0.5))
    assert not torch.equal(one, SOURCE.normal("b", (3, 2), 0.5))
    assert not torch.equal(one, replace(SOURCE, seed=2).normal("a", (3, 2), 0.5))
    narrow = replace(SOURCE, dtype=torch.bfloat16).normal("a", (3, 2), 0.5)
    assert torch.equal(narrow, one.to(torch.bfloat16))
    low_high = SOURCE.uniform("c", (100,), -4.0, 1.0)
    assert low_high.min() >= -4 and low_high.max() < 1
