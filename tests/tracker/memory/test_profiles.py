import json
import random
from dataclasses import replace

import numpy as np
import pytest

from harness._comm import single_process
from harness.memory import (
    BudgetedExecutor,
    memory_signature,
    model_floor,
    observe_step,
    report_observation,
)
from harness.model._decoder import build_model
from harness.model._presets import preset
from planner import build_prefix_tree, plan_layout
from planner.memory import (
    CURRENT_FORMULA,
    ForwardSize,
    Observation,
    Pricing,
    Signature,
    learn_profile,
    replay,
)
from schemas import AdmissionRefused, MemoryObserved, MemorySignature, NotFoundError
from tracker.memory import (
    Ledger,
    memory_model,
    memory_profile,
    memory_profiles,
    memory_trace,
    record_memory,
)

TRAIN = Signature("qwen-like", "tp1cp1 sm_90", True, "loss")
SCORE = Signature("qwen-like", "tp1cp1 sm_90", False, "logits")


def observed(signature, observation, predicted=10**12):
    return "memory.observed", MemoryObserved(
        signature=MemorySignature(
            model=signature.model,
            topology=signature.topology,
            grad=signature.grad,
            outputs=signature.outputs,
        ),
        packed_tokens=observation.size.packed_tokens,
        logical_tokens=observation.size.logical_tokens,
        outputs=0,
        priced_tokens=observation.size.packed_tokens,
        formula=2,
        predicted_peak_bytes=predicted,
        observed_peak_bytes=observation.peak_bytes,
        retained_bytes=observation.retained_bytes,
    )


def draw(rng):
    packed = rng.randint(1, 200_000)
    peak = rng.randint(0, 140 * 10**9)
    return Observation(ForwardSize(packed, packed + rng.randint(0, 9 * packed)), peak, rng.randint(0, peak))


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger")


def test_a_profile_is_rebuilt_from_the_log_as_it_was_learned(ledger):
    rng = random.Random(8)
    seen = {TRAIN: [draw(rng) for _ in range(40)], SCORE: [draw(rng)]}
    events = [observed(signature, item) for signature, items in seen.items() for item in items]
    rng.shuffle(events)
    record_memory(ledger, "demo", events[:20])
    record_memory(ledger, "other", events[20:])
    assert memory_profiles(ledger) == {signature: learn_profile(items) for signature, items in seen.items()}
    assert memory_profile(ledger, SCORE) == learn_profile(seen[SCORE])


def test_many_small_logs_agree_with_the_planner_to_the_last_unit(ledger):
    rng = random.Random(9)
    seen = {
        Signature(f"m{n}", "t", True, "loss"): [draw(rng) for _ in range(rng.randint(1, 3))]
        for n in range(60)
    }
    record_memory(
        ledger, "demo", [observed(signature, item) for signature, items in seen.items() for item in items]
    )
    assert memory_profiles(ledger) == {signature: learn_profile(items) for signature, items in seen.items()}


def test_predictions_stand_beside_what_was_seen(ledger):
    record_memory(
        ledger,
        "demo",
        [
            observed(TRAIN, Observation(ForwardSize(10, 20), 50, 5), predicted=200),
            observed(TRAIN, Observation(ForwardSize(10, 20), 150, 5), predicted=100),
        ],
    )
    rows = ledger.warehouse.query(
        "SELECT predicted_peak_bytes, observed_peak_bytes, observed_pct FROM memory_observations"
    ).rows()
    assert list(rows) == [(200, 50, 25.0), (100, 150, 150.0)]
    assert list(ledger.warehouse.query("SELECT worst_observed_pct FROM memory_profiles").rows()) == [(150.0,)]


def test_decisions_are_events(ledger):
    refused = AdmissionRefused(
        signature=observed(TRAIN, Observation(ForwardSize(1, 1), 1, 1))[1].signature,
        formula=2,
        rows=3,
        logical_tokens=30,
        predicted_peak_bytes=100,
        usable_limit_bytes=50,
        suggestion="raise the limit",
    )
    segment = record_memory(ledger, "demo", [("admission.refused", refused)])
    (row,) = ledger.warehouse.query(
        "SELECT segment, unit, data FROM events WHERE type = 'admission.refused'"
    ).rows()
    assert row[:2] == (segment, "memory_observation")
    assert json.loads(row[2]) == refused.plain()
    assert list(
        ledger.warehouse.query(
            "SELECT admitted, subforwards, predicted_peak_bytes, suggestion FROM admissions"
        ).rows()
    ) == [(False, None, 100, "raise the limit")]


def test_an_unknown_signature_names_those_there_are(ledger):
    record_memory(ledger, "demo", [observed(TRAIN, Observation(ForwardSize(1, 1), 1, 1))])
    with pytest.raises(NotFoundError, match="qwen-like"):
        memory_profile(ledger, SCORE)


def test_other_events_are_refused(ledger):
    with pytest.raises(ValueError, match=r"sample\.recorded"):
        record_memory(ledger, "demo", [("sample.recorded", observed(TRAIN, draw(random.Random(1)))[1])])


def test_what_was_learned_becomes_a_record_with_its_evidence(ledger):
    rng = random.Random(5)
    seen = [draw(rng) for _ in range(3)]
    segments = [record_memory(ledger, "demo", [observed(TRAIN, item)]) for item in seen]
    model = memory_model(ledger)
    assert model.formula == CURRENT_FORMULA
    assert model.segments == tuple(sorted(segments))
    assert [profile.observations for profile in model.profiles] == [3]
    # The same learned numbers under another formula are another thing to review.
    assert memory_model(ledger, formula=1).digest != model.digest == memory_model(ledger).digest


def test_nothing_observed_is_no_memory_model(ledger):
    record_memory(ledger, "demo", [])
    with pytest.raises(NotFoundError, match="no memory was observed"):
        memory_model(ledger)


def test_from_a_real_step_through_the_log_to_the_next_step_inside_a_budget(ledger):
    model = build_model(replace(preset("moe-tiny"), layers=1), single_process(), 3)
    rows = [(np.arange(60) * 7 + row) % 256 for row in range(6)]
    tree = build_prefix_tree(rows[:2])
    signature = memory_signature(model, "cpu", grad=True, outputs="loss")
    seen = observe_step(model, rows[:2], plan_layout(tree, tree.decisions))
    events = []
    report_observation(
        seen, signature, Pricing(model_floor(model)), lambda type_, record: events.append((type_, record))
    )
    record_memory(ledger, "demo", events)
    assert replay(memory_trace(ledger, seen.trace.digest)) == seen.replay

    profile = memory_profile(ledger, signature)
    assert profile == learn_profile([seen.observation])
    pricing = Pricing(model_floor(model), profile)
    whole = pricing.required_bytes(ForwardSize(360, 360))
    events.clear()
    executor = BudgetedExecutor(
        model, signature, pricing, report=lambda type_, record: events.append((type_, record))
    )
    step = executor.run(rows, whole - 1)
    assert len(step.admission.subforwards) > 1
    record_memory(ledger, "demo", events)
    ((admitted, parts, predicted, limit),) = ledger.warehouse.query(
        "SELECT admitted, subforwards, predicted_peak_bytes, usable_limit_bytes FROM admissions"
    ).rows()
    assert (admitted, parts) == (True, len(step.admission.subforwards))
    assert predicted == step.admission.required_bytes <= limit == whole - 1


def test_a_trace_that_was_not_recorded_is_not_found(ledger):
    record_memory(ledger, "demo", [observed(TRAIN, Observation(ForwardSize(1, 1), 1, 1))])
    with pytest.raises(NotFoundError, match="no trace"):
        memory_trace(ledger, "0" * 64)
