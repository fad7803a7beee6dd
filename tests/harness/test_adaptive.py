"""An adaptive attempt: ranks that end it together, and a runner that believes its own rule alone."""

import time

import pytest
import torch

from harness._attempt import OpenAttempt
from harness._campaign import parse_campaign
from harness._comm import single_process
from harness._faults import FaultInjector
from harness._launch import CellOutcome
from harness._measure import Bench, CellMeasurement
from harness._runner import run_campaign
from schemas import Protocol

PROTOCOL = Protocol.parse({"rounds": 9, "required": 3, "disturbed_pct": 1e9, "adaptive": {}}, where="here")
NAMES = ("no_sharing", "depth_one")
FEATURES = {"packed_tokens": 9, "segment_count": 2, "max_depth": 1, "segments_below": [2] * 8}


def candidate(*labels: str) -> dict:
    return {"label": labels[0], "labels": list(labels), "decisions": [], "features": FEATURES}


DESCRIBED = {
    "cell": "c",
    "facts": {"tp": 1, "cp": 1, "layers": 1, "gdn_layers": 0, "uses_gdn": False},
    "fingerprint": {
        "source": "s",
        "workload": "w",
        "device": "d",
        "device_class": {"capability": "cpu:x", "memory": "below-70g"},
        "dtype": "float32",
        "geometry": {
            "hidden_size": 8,
            "ffn_hidden_size": 8,
            "num_attention_heads": 1,
            "num_query_groups": 1,
            "kv_channels": 8,
        },
    },
    "rows": 2,
    "tokens": 9,
    "tree_decisions": 1,
    "tree_segments": 3,
    "candidates": [candidate(name) for name in NAMES],
    "automatic": candidate("automatic", NAMES[0]),
    "automatic_version": 1,
}


class Plan:
    """All that the recorder of these tests reads of a cell's plan."""

    class identity:
        key = "c"


def verdict_of(recorder, rounds: int, ratio: float, stopped: str, *, short: int = 0, noise: float = 0.02):
    """The runner's verdict on so many rounds of two candidates whose times lie that far apart."""
    attempt = OpenAttempt(recorder.open_attempt(Plan, 1), "c", PROTOCOL, lambda *_: None)
    attempt.take("cell.described", DESCRIBED)
    samples = [(number, name) for number in range(rounds) for name in NAMES]
    for number, name in samples[: len(samples) - short]:
        wobble = 1 + noise * (0, 1, -1, 2)[(number * 3 + len(name)) % 4]
        ms = 10.0 * wobble * (1 if name == NAMES[0] else ratio)
        attempt.take(
            "sample.recorded",
            {
                "cell": "c",
                "candidate": name,
                "role": "measured",
                "round": number,
                "position": 0,
                "ms": ms,
                "ms_ranks": [ms],
                "compile_events": 0,
                "run_delay_pct": [0.0],
                "loss": 1.0,
                "usable": True,
            },
        )
    report = {
        "rank": 0,
        "measured_samples": len(samples) - short,
        "warmup_samples": 0,
        "stopped": stopped,
    }
    return attempt.finish(CellOutcome(exit_codes=[0], started=True, reports={0: report}), 1.0)


def test_an_attempt_that_ends_as_its_rule_has_it_is_complete_and_says_why(recorder):
    assert verdict_of(recorder, 3, 2.0, "separated") is None
    end = recorder.attempts[0].completion["end"]
    assert end == {"reason": "separated", "rounds": 3, "saved": 6, "fastest": "no_sharing"}
    assert verdict_of(recorder, 9, 1.0, "budget", noise=0.2) is None
    assert recorder.attempts[1].completion["end"]["reason"] == "budget"
    assert recorder.attempts[1].completion["end"]["saved"] == 0


@pytest.mark.parametrize(
    ("rounds", "ratio", "stopped", "short", "words"),
    [
        # Three rounds decide nothing between candidates so close.
        (3, 1.005, "separated", 0, "after 3 rounds the adaptive rule had not ended the attempt"),
        # The third round had decided it.
        (5, 2.0, "separated", 0, "after 5 rounds the adaptive rule already had ended the attempt"),
        (4, 2.0, "separated", 1, "after 3 rounds the adaptive rule already had ended"),
        (3, 2.0, "budget", 0, "rank 0 reports that it stopped by budget, not by separated"),
        (2, 2.0, "separated", 0, "no_sharing: 2 measured, 2 usable"),
    ],
)
def test_no_other_number_of_samples_is_believed(recorder, rounds, ratio, stopped, short, words):
    verdict = verdict_of(recorder, rounds, ratio, stopped, short=short)
    assert verdict is not None
    assert words in verdict.message
    assert recorder.attempts[0].failure["samples"] == 2 * rounds - short


def test_ranks_stop_as_soon_as_what_is_left_could_not_matter():
    def fast() -> float:
        time.sleep(0.001)
        return 1.0

    def slow() -> float:
        time.sleep(0.03)
        return 1.0

    bench = Bench(
        cell="c",
        steps={"slow": slow, "fast": fast},
        model=torch.nn.Module(),
        groups=single_process(),
        device=torch.device("cpu"),
        protocol=PROTOCOL,
        faults=FaultInjector(None, 0),
        emit=lambda *_: None,
    )
    measurement = CellMeasurement(bench)
    measurement.run()
    # Thirty to one: three or four rounds, whatever else the machine does.
    assert measurement.stopped == "separated"
    assert measurement.taken["measured"] < 2 * PROTOCOL.rounds


CAMPAIGN = """
campaign = "adaptive"
table_id = "adaptive"
[protocol]
rounds = 10
required = 3
disturbed_pct = 1e9
timeout_s = 300.0
adaptive = { tie_pct = 20.0, error_pct = 10.0 }
[fit]
terms = ["token_per_rank"]
[models.a]
preset = "attention-small"
parameters = { layers = 1 }
[workloads.apart]
kind = "grpo"
parameters = { prompts = 1, completions = 6, system = 160, prompt = 8, completion = 2 }
[[cells]]
workloads = ["apart"]
models = ["a"]
shapes = ["tp2cp1"]
"""


@pytest.mark.slow(seconds=10)
def test_two_real_ranks_end_a_cell_together(recorder):
    manifest = parse_campaign(CAMPAIGN, "adaptive.toml")
    assert run_campaign(manifest, recorder).ok
    (attempt,) = recorder.attempts
    completed = attempt.completion
    assert {report["stopped"] for report in completed["rank_reports"]} == {completed["end"]["reason"]}
    rounds = {sample["round"] for sample in attempt.samples()}
    assert rounds == set(range(completed["end"]["rounds"]))
    assert completed["end"]["saved"] == 10 - len(rounds)
    assert min(completed["usable"].values()) >= 3
