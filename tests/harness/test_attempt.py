"""What the runner appends and how it judges, without starting a rank."""

from itertools import pairwise

import pytest

from harness._attempt import OpenAttempt
from harness._launch import CellOutcome
from schemas import Protocol

PROTOCOL = Protocol(rounds=2, required=2)
FEATURES = {"packed_tokens": 9, "segment_count": 2, "max_depth": 1, "segments_below": [2] * 8}
GEOMETRY = {
    "hidden_size": 8,
    "ffn_hidden_size": 8,
    "num_attention_heads": 1,
    "num_query_groups": 1,
    "kv_channels": 8,
}


def candidate(*labels: str) -> dict:
    return {"label": labels[0], "labels": list(labels), "decisions": [], "features": FEATURES}


def described(*automatic: str) -> dict:
    return {
        "cell": "c",
        "facts": {"tp": 1, "cp": 1, "layers": 1, "gdn_layers": 0, "uses_gdn": False},
        "fingerprint": {
            "source": "s",
            "workload": "w",
            "device": "d",
            "device_class": {"capability": "cpu:x", "memory": "below-70g"},
            "dtype": "float32",
            "geometry": GEOMETRY,
        },
        "rows": 2,
        "tokens": 9,
        "tree_decisions": 1,
        "tree_segments": 3,
        "candidates": [candidate("no_sharing"), candidate("depth_one")],
        "automatic": candidate("automatic", *automatic),
        "automatic_version": 1,
    }


def sample(name: str, round_number: int, role: str = "measured", usable: bool = True) -> dict:
    return {
        "cell": "c",
        "candidate": name,
        "role": role,
        "round": round_number,
        "position": 0,
        "ms": 1.0,
        "ms_ranks": [1.0],
        "compile_events": 0,
        "run_delay_pct": [0.0],
        "loss": 1.0,
        "usable": usable and role == "measured",
    }


def outcome(**changes: object) -> CellOutcome:
    report = {"rank": 0, "measured_samples": 4, "warmup_samples": 2}
    return CellOutcome(**{"exit_codes": [0], "started": True, "reports": {0: report}, **changes})


def measured_in(recorder, *, automatic: tuple[str, ...] = ("no_sharing",)) -> OpenAttempt:
    """An attempt that has all its samples."""
    kept = recorder.open_attempt(_Plan, 1)
    attempt = OpenAttempt(kept, "c", PROTOCOL, lambda *_: None)
    attempt.take("cell.described", described(*automatic))
    for name in ("no_sharing", "depth_one"):
        attempt.take("sample.recorded", sample(name, 0, "warmup"))
        for round_number in range(2):
            attempt.take("sample.recorded", sample(name, round_number))
    return attempt


class _Plan:
    """All that the recorder of these tests reads of a cell's plan."""

    class identity:
        key = "c"


def test_status_reports_and_samples_together_complete_a_cell(recorder) -> None:
    assert measured_in(recorder).finish(outcome(), 1.0) is None
    assert recorder.attempts[0].completion["usable"] == {"no_sharing": 2, "depth_one": 2}


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"exit_codes": [3]}, "exception", "exit code 3"),
        ({"reports": {}}, "false_success", "0 of 1"),
        (
            {"reports": {0: {"measured_samples": 5, "warmup_samples": 2}}},
            "false_success",
            "5 measured and 2 warm-up samples, 4 and 2 arrived",
        ),
        ({"interrupted": True}, "interrupted", "told to stop"),
        (
            {"timed_out": True, "last_collectives": ("rank 0: barrier",)},
            "timeout",
            "1.5 s; last collectives: rank 0",
        ),
        ({"exit_codes": [None], "started": False, "reports": {}}, "launch", "did not start"),
    ],
)
def test_any_one_of_them_missing_fails_it(recorder, changes, kind, words) -> None:
    verdict = measured_in(recorder).finish(outcome(**changes), 1.5)
    assert verdict is not None
    assert verdict.kind == kind
    assert words in verdict.message
    assert recorder.attempts[0].failure["samples"] == 4


def test_an_engine_that_reports_success_without_samples_is_not_believed(recorder) -> None:
    attempt = OpenAttempt(recorder.open_attempt(_Plan, 1), "c", PROTOCOL, lambda *_: None)
    verdict = attempt.finish(outcome(), 1.0)
    assert verdict is not None
    assert verdict.kind == "false_success"
    assert verdict.message == "every rank ended with exit code 0, but the ranks never described the cell"


def test_an_automatic_choice_of_its_own_must_have_its_samples(recorder) -> None:
    verdict = measured_in(recorder, automatic=()).finish(outcome(), 1.0)
    assert verdict is not None
    assert "automatic: 0 measured, 0 usable" in verdict.message


def test_unusable_samples_do_not_count_towards_those_required(recorder) -> None:
    attempt = measured_in(recorder)
    attempt.take("sample.recorded", sample("depth_one", 2, usable=False))
    report = {"measured_samples": 5, "warmup_samples": 2}
    assert attempt.finish(outcome(reports={0: report}), 1.0) is None
    assert recorder.attempts[0].completion["usable"]["depth_one"] == 2


def test_samples_are_made_durable_at_least_every_hundred_events(recorder) -> None:
    attempt = measured_in(recorder)
    for round_number in range(2, 260):
        attempt.take("sample.recorded", sample("depth_one", round_number))
    durable = [index for index, (_, _, sync) in enumerate(recorder.attempts[0].events) if sync]
    assert durable[0] == 0
    assert all(later - earlier <= 100 for earlier, later in pairwise(durable))
    assert len(durable) >= 3
