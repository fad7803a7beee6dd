"""Real ranks, small widths: what a campaign records of cells that go well and of cells that do not."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from harness._job import AutomaticChoice, Fault
from harness._runner import CampaignRun, CellProgress, run_campaign


@pytest.fixture(params=["one_rank", "two_ranks"])
def ran(request):
    return request.getfixturevalue(request.param)


def test_every_cell_has_one_sealed_attempt_and_is_completed_or_failed(ran) -> None:
    cells = [(attempt.cell, attempt.number, attempt.sealed) for attempt in ran.recorder.attempts]
    assert sorted(cells) == sorted((key, 1, True) for key in ran.manifest.keys)
    ends = {attempt.cell: attempt.events[-1][0] for attempt in ran.recorder.attempts}
    assert {cell for cell, end in ends.items() if end == "cell.completed"} == set(ran.summary.completed)
    assert {cell for cell, end in ends.items() if end == "cell.failed"} == set(ran.summary.failed)
    assert not ran.summary.ok


def test_a_cell_is_described_then_sampled_in_rotating_rounds_then_completed(ran) -> None:
    attempt = ran.recorder.named("first")
    types = [type_ for type_, _, _ in attempt.events]
    assert types[:2] == ["cell.started", "cell.described"]
    (described,) = attempt.of("cell.described")
    labels = [candidate["label"] for candidate in described["candidates"]]
    assert labels[0] == "no_sharing"
    assert len(set(labels)) == 4
    for role, rounds in (("warmup", 1), ("measured", 3)):
        for number in range(rounds):
            order = [sample["candidate"] for sample in attempt.samples(role) if sample["round"] == number]
            assert order == labels[number:] + labels[:number]
    assert attempt.completion["usable"] == dict.fromkeys(labels, 3)


def test_the_slowest_rank_is_the_time_and_every_rank_reports(ran) -> None:
    attempt = ran.recorder.named("first")
    world = attempt.of("cell.started")[0]["identity"]["shape"]["tp"]
    for sample in attempt.of("sample.recorded"):
        assert len(sample["ms_ranks"]) == len(sample["run_delay_pct"]) == world
        assert sample["ms"] == max(sample["ms_ranks"]) > 0
        assert min(sample["run_delay_pct"]) >= 0
        assert sample["usable"] == (sample["role"] == "measured")
    reports = attempt.completion["rank_reports"]
    assert [report["rank"] for report in reports] == list(range(world))
    assert {report["measured_samples"] for report in reports} == {12}
    assert len({report["layouts_digest"] for report in reports}) == 1


def test_every_layout_of_a_cell_has_the_same_loss(ran) -> None:
    for attempt in ran.recorder.attempts:
        losses = [sample["loss"] for sample in attempt.of("sample.recorded")]
        assert max(losses) == pytest.approx(min(losses), rel=1e-5)


def test_what_it_was_measured_on_is_recorded(one_rank) -> None:
    attempt = one_rank.recorder.named("first")
    (started,), (described,) = attempt.of("cell.started"), attempt.of("cell.described")
    assert started["environment"]["source_digest"] == described["fingerprint"]["source"]
    assert started["environment"]["versions"]["torch"].split("+")[0].count(".") == 2
    assert described["fingerprint"]["device_class"]["capability"].startswith("cpu:")
    assert described["fingerprint"]["geometry"]["hidden_size"] == 64
    assert described["facts"]["gdn_layers"] == 1


@pytest.mark.parametrize(
    ("name", "kind", "code", "words"),
    [
        ("exception", "exception", 1, "a fault that a test asked for"),
        ("kill", "killed", -signal.SIGKILL, "SIGKILL"),
        ("nan", "non_finite_loss", 1, "loss by rank nan"),
        ("memory", "out_of_memory", 1, "allocate"),
        ("leave", "incomplete", 0, "end report"),
        ("compile", "incomplete", 1, "fewer than 3 usable"),
    ],
)
def test_a_failure_of_one_process_has_its_kind_and_the_next_cell_runs(
    one_rank, name: str, kind: str, code: int, words: str
) -> None:
    failure = one_rank.recorder.named(name).failure
    assert (failure["kind"], failure["exit_codes"]) == (kind, [code])
    assert words in failure["message"]
    # The faults strike at the start of the second round.
    assert failure["samples"] == (12 if name == "compile" else 4)
    assert one_rank.recorder.named("last").completion


def test_an_error_of_the_engine_is_in_the_log_tail_of_its_own_cell(one_rank) -> None:
    assert "RuntimeError: a fault" in one_rank.recorder.named("exception").failure["log_tail"]
    assert "RuntimeError: a fault" not in one_rank.recorder.named("nan").failure["log_tail"]


@pytest.mark.parametrize(
    ("name", "kind", "codes"),
    [("exception", "exception", [1, 1]), ("kill", "killed", [1, -signal.SIGKILL])],
)
def test_the_rank_that_failed_first_is_named_not_the_one_that_lost_it(
    two_ranks, name: str, kind: str, codes: list[int]
) -> None:
    failure = two_ranks.recorder.named(name).failure
    assert (failure["kind"], failure["exit_codes"]) == (kind, codes)
    assert "rank 1" in failure["message"]
    assert len(failure["last_collectives"]) == 2
    assert "--- rank 0" in failure["log_tail"]


def test_a_rank_that_leaves_with_success_is_no_success(two_ranks) -> None:
    failure = two_ranks.recorder.named("leave").failure
    assert failure["exit_codes"] == [1, 0]
    assert failure["kind"] == "exception"


def test_a_hang_ends_with_its_limit_and_names_each_ranks_last_collective(two_ranks) -> None:
    failure = two_ranks.recorder.named("hang").failure
    assert (failure["kind"], failure["exit_codes"]) == ("timeout", [None, None])
    waiting, stuck = failure["last_collectives"]
    assert "all_reduce over tp" in waiting
    assert "barrier over control" in stuck
    # Each process was asked for its stacks before it was ended.
    assert "_hang" in failure["log_tail"]


def test_cells_after_a_hang_run_in_new_ranks(two_ranks) -> None:
    last = [attempt for attempt in two_ranks.recorder.attempts if attempt.cell.startswith("last|")]
    assert {attempt.of("cell.described")[0]["facts"]["cp"] for attempt in last} == {1, 2}
    assert all(attempt.completion for attempt in last)


def test_one_rank_that_compiles_in_a_warm_up_makes_all_ranks_warm_up_once_more(two_ranks) -> None:
    assert {sample["round"] for sample in two_ranks.recorder.named("warm").samples("warmup")} == {0, 1}
    assert {sample["round"] for sample in two_ranks.recorder.named("first").samples("warmup")} == {0}


def test_a_sample_that_compiled_is_kept_not_used_and_made_up_for(recorder, campaign) -> None:
    manifest = campaign(["g"], extra_rounds=2)
    progress: list[CellProgress] = []
    faults = {manifest.keys[0]: Fault(kind="recompile", round=1)}
    assert CampaignRun(manifest, recorder, faults=faults, progress=progress.append).run().ok
    (attempt,) = recorder.attempts
    (unusable,) = [sample for sample in attempt.samples() if not sample["usable"]]
    assert unusable["compile_events"] >= 1
    assert unusable["reason"].startswith("compiled")
    assert {sample["round"] for sample in attempt.samples()} == {0, 1, 2, 3}
    assert attempt.completion["usable"][unusable["candidate"]] == 3
    assert [seen.state for seen in progress if seen.state != "measuring"] == ["started", "completed"]
    assert (progress[-1].samples, progress[-1].expected) == (16, 12)


def test_only_missing_cells_run_and_attempts_count_on_and_a_missing_corpus_fails_alone(
    recorder, campaign, tmp_path
) -> None:
    more = f'[workloads.f]\nkind = "file"\nparameters = {{ path = "{tmp_path / "none.jsonl"}" }}\n'
    more += '[[cells]]\nworkloads = ["f"]\nmodels = ["a"]\nshapes = ["tp1cp1"]\n'
    manifest = campaign(["done", "again"], more=more)
    done, again, absent = manifest.keys
    recorder.before[again] = 2
    choice = AutomaticChoice(version=7, coefficients={"token_per_rank": 5})
    summary = run_campaign(manifest, recorder, skip_completed={done}, automatic=choice)
    assert (summary.skipped, summary.completed) == ((done,), (again,))
    assert summary.failed == {absent: "missing_corpus"}
    assert [attempt.number for attempt in recorder.attempts] == [3, 1]
    (described,) = recorder.attempts[0].of("cell.described")
    assert described["automatic_version"] == 7
    # Tokens alone are priced, so the planner shares all.
    assert described["automatic"]["labels"][1:] == described["candidates"][-2]["labels"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_runner_closes_the_attempt_and_leaves_no_process(recorder, campaign, number: int) -> None:
    manifest = campaign(["g", "later"])
    handler = signal.getsignal(number)
    run = CampaignRun(manifest, recorder, faults={manifest.keys[0]: Fault(kind="hang", round=1)})

    def stop() -> None:
        while not (recorder.attempts and len(recorder.attempts[0].of("sample.recorded")) >= 8):
            time.sleep(0.05)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=stop, daemon=True)
    thread.start()
    summary = run.run()
    thread.join(10)
    assert summary.interrupted == signal.Signals(number).name
    assert summary.not_run == manifest.keys[1:]
    (attempt,) = recorder.attempts
    assert (attempt.failure["kind"], attempt.failure["samples"]) == ("interrupted", 4)
    assert signal.getsignal(number) is handler
    assert descendants(os.getpid()) == []


RUNNER = """
import sys
from harness._job import Fault
from harness._runner import CampaignRun
from schemas import Manifest
class Kept:
    def attempts_of(self, cell): return 0
    def open_attempt(self, plan, number): return self
    def append(self, type, data, *, durable):
        if type == "cell.described": print("described", flush=True)
    def seal(self): pass
manifest = Manifest.model_validate_json(sys.stdin.read())
CampaignRun(manifest, Kept(), faults={manifest.keys[0]: Fault(kind="hang")}).run()
"""


def test_a_killed_runner_leaves_no_rank_behind(campaign) -> None:
    """After SIGKILL of the runner nothing of ours can clean up: the kernel must."""
    command = [sys.executable, "-c", RUNNER]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin
    assert process.stdout
    process.stdin.write(campaign(["g"], shape="tp2cp1").model_dump_json())
    process.stdin.close()
    assert process.stdout.readline() == "described\n"
    family = descendants(process.pid)
    # Two ranks, and a process for the cell in each.
    assert len(family) == 4
    process.kill()
    process.wait()
    process.stdout.close()
    end = time.monotonic() + 10
    while any(alive(pid) for pid in family) and time.monotonic() < end:
        time.sleep(0.05)
    assert [pid for pid in family if alive(pid)] == []


def descendants(pid: int) -> list[int]:
    found = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (thread / "children").read_text().split()):
            found += [child, *descendants(child)]
    return found


def alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False
