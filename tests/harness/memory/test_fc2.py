from itertools import pairwise

import pytest
import torch

from harness._step import prepare
from harness.memory import expert_facts, fc2_buffers, observe_step, record_cpu_trace
from harness.model._experts import Experts
from planner.memory import TraceError, observed_path_bytes, replay


def facts_of(model):
    return expert_facts(next(module for module in model.modules() if isinstance(module, Experts)))


def require_seven(points, layers, tokens, facts):
    assert len(points) == layers
    assert len({buffer for found in points for buffer in found.values()}) == 7 * layers
    for found in points:
        assert len(found) == 7
        ranges = sorted((buffer.address, buffer.address + buffer.size) for buffer in found.values())
        assert len(set(ranges)) == 7
        assert all(end <= start for (_, end), (start, _) in pairwise(ranges))
        assert sum(buffer.size for buffer in found.values()) == tokens * observed_path_bytes(facts)


@pytest.mark.parametrize(
    ("name", "changes"), [("moe-tiny", {}), ("moe-hybrid-tiny", {"attention_interval": 2})]
)
def test_seven_disjoint_buffers_are_in_use_at_each_fc2_sum_of_a_training_step(
    make_model, make_rows, full_sharing, name, changes
):
    model, rows = make_model(name, **changes), make_rows(6)
    observed = observe_step(model, rows, full_sharing(rows))
    assert observed.replay.complete
    tokens = observed.observation.size.packed_tokens
    points = fc2_buffers(observed.replay, facts_of(model), tokens)
    require_seven(points, 2, tokens, facts_of(model))
    assert observed.observation.peak_bytes >= tokens * observed_path_bytes(facts_of(model))


def test_without_autograd_there_are_the_same_seven(make_model, make_rows, full_sharing):
    model, rows = make_model(), make_rows(6)
    layout = full_sharing(rows)
    plan = prepare(model, rows, layout)
    with torch.no_grad():
        shown = replay(record_cpu_trace(lambda: model(plan)))
    points = fc2_buffers(shown, facts_of(model), layout.packed_tokens)
    require_seven(points, 2, layout.packed_tokens, facts_of(model))


def test_another_number_of_tokens_is_not_found(make_model, make_rows, full_sharing):
    model, rows = make_model(), make_rows(6)
    observed = observe_step(model, rows, full_sharing(rows))
    with pytest.raises(TraceError, match="not in use at this point: permuted"):
        fc2_buffers(observed.replay, facts_of(model), observed.observation.size.packed_tokens + 1)


def test_a_layer_that_gives_a_buffer_back_early_is_caught(make_model, make_rows, full_sharing, monkeypatch):
    """The sum written over the adapter's product: six buffers, and the price would be too high."""
    from harness.model import _grouped

    def in_place(base, adapted, *, alpha):
        return adapted.mul_(alpha).add_(base)

    model, rows = make_model(), make_rows(6)
    monkeypatch.setattr(_grouped.torch, "add", in_place)
    with torch.no_grad():
        plan = prepare(model, rows, full_sharing(rows))
        shown = replay(record_cpu_trace(lambda: model(plan)))
    with pytest.raises(TraceError, match="fc2_sum"):
        fc2_buffers(shown, facts_of(model), full_sharing(rows).packed_tokens)


def test_a_dense_model_has_no_such_point(make_model, make_rows, full_sharing):
    rows = make_rows(2)
    observed = observe_step(make_model("attention-tiny", layers=1), rows, full_sharing(rows))
    with pytest.raises(TraceError, match="no routed-expert layer ran"):
        fc2_buffers(observed.replay, facts_of(make_model()), 10)
