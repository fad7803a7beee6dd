import json
import random

import pytest

from planner.memory import ForwardSize, Observation, Signature, learn_profile
from schemas import (
    AdmissionRefused,
    MemoryObserved,
    MemorySignature,
    NotFoundError,
)
from tracker._ledger import Ledger
from tracker._memory import memory_profile, memory_profiles, record_memory

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


def test_an_unknown_signature_names_those_there_are(ledger):
    record_memory(ledger, "demo", [observed(TRAIN, Observation(ForwardSize(1, 1), 1, 1))])
    with pytest.raises(NotFoundError, match="qwen-like"):
        memory_profile(ledger, SCORE)


def test_other_events_are_refused(ledger):
    with pytest.raises(ValueError, match=r"sample\.recorded"):
        record_memory(ledger, "demo", [("sample.recorded", observed(TRAIN, draw(random.Random(1)))[1])])
