"""Real ranks, small widths: what a campaign records of cells that go well and of cells that do not."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from harness._job import Fault
from harness._runner import CampaignRun


@pytest.fixture(params=["one_rank", "two_ranks"])
def ran(request):
    return request.getfixturevalue(request.param)


def test_every_cell_has_one_sealed_attempt_and_is_completed_or_failed(ran) -> None:
    cells = [(attempt.cell, attempt.sealed) for attempt in ran.recorder.attempts]
    assert sorted(cells) == sorted((key, True) for key in ran.manifest.keys if key not in ran.summary.skipped)
    ends = {attempt.cell: attempt.events[-1][0] for attempt in ran.recorder.attempts}
    assert {cell for cell, end in ends.items() if end == "cell.completed"} == set(ran.summary.completed)
    assert {cell for cell, end in ends.items() if end == "cell.failed"} == set(ran.summary.failed)
    assert not ran.summary.ok


def test_no_process_is_left_whatever_happened_to_the_cells(ran) -> None:
    assert ran.left_running == []


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
        # A cell that was refused, or whose corpus is missing, has none.
        losses = [sample["loss"] for sample in attempt.of("sample.recorded")] or [0.0]
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
        ("leave", "false_success", 0, "only 0 of 1 sent an end report"),
    ],
)
def test_a_failure_of_one_process_has_its_kind_and_the_next_cell_runs(
    one_rank, name: str, kind: str, code: int, words: str
) -> None:
    failure = one_rank.recorder.named(name).failure
    assert (failure["kind"], failure["exit_codes"]) == (kind, [code])
    assert words in failure["message"]
    # The faults strike at the start of the second round.
    assert failure["samples"] == 4
    assert len(failure["last_collectives"]) == 1
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


def test_a_sample_that_compiled_is_kept_not_used_and_made_up_for(one_rank) -> None:
    attempt = one_rank.recorder.named("compile")
    (unusable,) = [sample for sample in attempt.samples() if not sample["usable"]]
    assert unusable["compile_events"] >= 1
    assert unusable["reason"].startswith("compiled")
    assert {sample["round"] for sample in attempt.samples()} == {0, 1, 2, 3}
    assert attempt.completion["usable"][unusable["candidate"]] == 3
    progress = [seen for seen in one_rank.progress if seen.cell == attempt.cell]
    assert [seen.state for seen in progress if seen.state != "measuring"] == ["started", "completed"]
    assert (progress[-1].samples, progress[-1].expected) == (16, 12)


def test_a_layout_priced_above_the_limit_refuses_its_cell_before_it_runs(one_rank) -> None:
    attempt = one_rank.recorder.named("large")
    assert attempt.failure["kind"] == "admission_refused"
    assert "200,000 are usable" in attempt.failure["message"]
    assert (attempt.failure["exit_codes"], attempt.failure["samples"]) == ([1], 0)
    assert attempt.of("cell.described")
    assert not attempt.of("sample.recorded")


def test_a_missing_corpus_fails_its_cell_alone(one_rank) -> None:
    failure = one_rank.recorder.named("absent").failure
    assert (failure["kind"], failure["exit_codes"]) == ("missing_corpus", [1])
    assert "/nowhere/corpus.jsonl" in failure["message"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("masked", "but only 0 of 1 sent an end report; samples are missing"),
        ("lost", "but samples are missing (no_sharing: 2 measured, 2 usable"),
        ("silent", "but only 0 of 1 sent an end report"),
    ],
)
def test_an_engine_that_reports_success_is_believed_only_with_all_reports_and_samples(
    one_rank, name: str, words: str
) -> None:
    failure = one_rank.recorder.named(name).failure
    assert (failure["kind"], failure["exit_codes"]) == ("false_success", [0])
    assert f"every rank ended with exit code 0, {words}" in failure["message"]


def test_only_missing_cells_run_attempts_count_on_and_the_automatic_choice_is_under_the_table(
    one_rank,
) -> None:
    assert one_rank.summary.skipped == (one_rank.key("done"),)
    again = one_rank.recorder.named("again")
    assert again.number == 3
    (described,) = again.of("cell.described")
    assert described["automatic_version"] == 7
    # Tokens alone are priced, so the planner shares all.
    assert described["automatic"]["labels"][1:] == described["candidates"][-2]["labels"]


def test_a_stopped_runner_closes_the_attempt_and_leaves_no_process(recorder, campaign, descendants) -> None:
    number = signal.SIGINT
    manifest = campaign(["g", "later"])
    handler = signal.getsignal(number)
    run = CampaignRun(manifest, recorder, faults={manifest.keys[0]: Fault(kind="hang", round=1)})

    def stop() -> None:
        while not (recorder.attempts and len(recorder.attempts[0].of("sample.recorded")) >= 8):
            time.sleep(0.05)
        os.kill(os.getpid(), number)

    others = descendants(os.getpid())
    thread = threading.Thread(target=stop, daemon=True)
    thread.start()
    summary = run.run()
    thread.join(10)
    assert summary.interrupted == signal.Signals(number).name
    assert summary.not_run == manifest.keys[1:]
    (attempt,) = recorder.attempts
    assert (attempt.failure["kind"], attempt.failure["samples"]) == ("interrupted", 4)
    assert signal.getsignal(number) is handler
    assert set(descendants(os.getpid())) <= set(others)


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


def test_a_killed_runner_leaves_no_rank_behind(campaign, descendants) -> None:
    """After SIGKILL of the runner nothing of ours can clean up: the kernel must."""
    command = [sys.executable, "-c", RUNNER]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin
    assert process.stdout
    process.stdin.write(campaign(["g"]).model_dump_json())
    process.stdin.close()
    assert process.stdout.readline() == "described\n"
    family = descendants(process.pid)
    # A rank, and its process for the cell.
    assert len(family) == 2
    process.kill()
    process.wait()
    process.stdout.close()
    end = time.monotonic() + 10
    while any(alive(pid) for pid in family) and time.monotonic() < end:
        time.sleep(0.05)
    assert [pid for pid in family if alive(pid)] == []


def alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False
