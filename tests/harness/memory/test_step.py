"""A real forward and backward under a budget, from the first observation to the split step."""

from dataclasses import asdict, replace

import pytest
import torch

from harness._step import forward_backward, prepare
from harness.memory import (
    BudgetedExecutor,
    memory_signature,
    model_floor,
    observe_step,
    record_trace,
    report_observation,
    trace_of_records,
)
from harness.model._presets import preset
from planner import build_prefix_tree
from planner.memory import (
    MemoryBudgetError,
    PartialExecutionError,
    Pricing,
    TreeOrder,
    combined_bytes,
    learn_profile,
    replay,
)
from planner.memory._admission import rung_prices

MODELS = [("moe-tiny", {}), ("hybrid-tiny", {"attention_interval": 2})]


class Kept:
    """A report that keeps what it is given."""

    def __init__(self):
        self.events = []

    def __call__(self, type_, record):
        self.events.append((type_, record))

    def of(self, type_):
        return [record for kind, record in self.events if kind == type_]


@pytest.fixture
def budgeted(make_rows, full_sharing):
    """A model with a profile of two rows, and a limit that eight rows fit in four parts at the most."""

    def make(model):
        rows = make_rows(8)
        signature = memory_signature(model, "cpu", grad=True, outputs="loss")
        seen = observe_step(model, rows[:2], full_sharing(rows[:2]))
        pricing = Pricing(model_floor(model), learn_profile([seen.observation]))
        order = TreeOrder(build_prefix_tree(rows))
        limit = combined_bytes(rung_prices(order, 4, pricing))
        assert combined_bytes(rung_prices(order, 3, pricing)) > limit
        return rows, signature, pricing, limit

    return make


def gradients(model):
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


@pytest.mark.parametrize(("name", "changes"), MODELS, ids=[name for name, _ in MODELS])
def test_unsplit_is_refused_split_runs_and_is_the_same_step(
    make_model, budgeted, full_sharing, name, changes
):
    model = make_model(name, **changes)
    rows, signature, pricing, limit = budgeted(model)
    report = Kept()
    executor = BudgetedExecutor(model, signature, pricing, report=report)
    ran = []
    trace = record_trace(lambda: ran.append(executor.run(rows, limit)), torch.device("cpu"))
    (step,), split = ran, gradients(model)
    peak = replay(trace).peak_bytes

    whole = observe_step(model, rows, full_sharing(rows)).observation
    assert pricing.required_bytes(whole.size) > limit, "unsplit is refused"
    assert whole.peak_bytes > peak, "and split it takes less"
    assert len(step.admission.subforwards) == 4
    assert step.admission.rungs[0].required_bytes is None
    assert peak <= step.admission.required_bytes <= limit

    loss = forward_backward(model, prepare(model, rows, full_sharing(rows)))
    assert step.loss == pytest.approx(loss, rel=1e-5)
    for name_, expected in gradients(model).items():
        scale = expected.abs().max()
        assert (split[name_] - expected).abs().max() <= 2e-5 * scale, name_
    (record,) = report.of("admission.split")
    assert record.predicted_peak_bytes == step.admission.required_bytes
    assert sorted(row for part in record.parts for row in part.rows) == list(range(8))


def test_what_is_refused_unsplit_would_not_have_fitted(make_model, budgeted, full_sharing):
    """Experts hold much at a time and keep little of it, so that splitting gains more than the margin."""
    model = make_model()
    rows, _, pricing, limit = budgeted(model)
    whole = observe_step(model, rows, full_sharing(rows)).observation
    assert limit < whole.peak_bytes < pricing.required_bytes(whole.size)


def test_a_batch_that_fits_runs_whole_and_reports_nothing(make_model, budgeted):
    model = make_model("attention-small", layers=1)
    rows, signature, pricing, _ = budgeted(model)
    report = Kept()
    step = BudgetedExecutor(model, signature, pricing, report=report).run(rows, 2**40)
    assert len(step.admission.subforwards) == 1 and not report.events
    plan = prepare(model, rows, step.admission.subforwards[0].layout)
    assert step.loss == pytest.approx(forward_backward(model, plan), rel=1e-6)


def test_a_refusal_comes_before_anything_runs(make_model, budgeted):
    model = make_model("attention-small", layers=1)
    rows, signature, pricing, _ = budgeted(model)
    ran = []
    model.register_forward_pre_hook(lambda *_: ran.append(1))
    report = Kept()
    with pytest.raises(MemoryBudgetError) as caught:
        BudgetedExecutor(model, signature, pricing, report=report).run(rows, 1000)
    assert not ran
    (record,) = report.of("admission.refused")
    assert record.predicted_peak_bytes == caught.value.predicted_peak_bytes > 1000
    assert record.usable_limit_bytes == 1000
    assert record.suggestion == caught.value.suggestion


def test_a_failing_subforward_says_which_ran(make_model, budgeted):
    model = make_model("attention-small", layers=1)
    rows, signature, pricing, limit = budgeted(model)
    calls = []

    def fail_at_the_third(*_):
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError("no memory left on the device")

    model.register_forward_pre_hook(fail_at_the_third)
    with pytest.raises(PartialExecutionError, match="no memory left") as caught:
        BudgetedExecutor(model, signature, pricing).run(rows, limit)
    assert caught.value.ran == (0, 1)
    assert (caught.value.failed, caught.value.total) == (2, 4)


def test_an_observation_and_its_trace_are_reported(make_model, make_rows, full_sharing):
    model, rows = make_model("attention-small", layers=1), make_rows(3)
    seen = observe_step(model, rows, full_sharing(rows))
    signature = memory_signature(model, "cpu", grad=True, outputs="loss")
    pricing = Pricing(model_floor(model))
    report = Kept()
    report_observation(seen, signature, pricing, report)
    (record,) = report.of("memory.observed")
    assert record.observed_peak_bytes == seen.observation.peak_bytes
    assert record.predicted_peak_bytes == pricing.required_bytes(seen.observation.size)
    again = replay(trace_of_records(report.of("memory.trace")))
    assert again.peak_bytes == record.observed_peak_bytes
    assert record.trace == seen.trace.digest
    assert 0 < record.retained_bytes < record.observed_peak_bytes


def test_the_same_step_is_seen_to_take_the_same(make_model, make_rows, full_sharing):
    model, rows = make_model(), make_rows(3)
    first, second = (observe_step(model, rows, full_sharing(rows)).observation for _ in range(2))
    assert first == second


def test_two_ranks_split_alike_whatever_each_has_seen_and_has_left(run_ranks, make_rows):
    config = asdict(replace(preset("moe-tiny"), layers=1))
    run_ranks(
        "budget",
        tp=1,
        cp=2,
        given={
            "config": config,
            "rows": [row.tolist() for row in make_rows(4)],
            # Alone, the first rank would run the batch whole and the second in two parts.
            "limits": [300_000, 200_000],
            "parts": 2,
            "tolerance": 2e-5,
        },
    )
