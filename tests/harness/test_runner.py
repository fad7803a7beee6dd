"""Real ranks, small widths: what a campaign records of cells that go well and of cells that do not."""

import json
import math
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from harness._job import AutomaticChoice, Fault
from harness._runner import CampaignRun, CellProgress, run_campaign


def processes_of(job_folder_prefix: str = "layoutledger-") -> list[str]:
    """Command lines of workers that still run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().decode().replace("\0", " ")
            except OSError:
                continue
            if "harness._worker" in line and job_folder_prefix in line and f"PPid:\t{os.getpid()}" in _status(entry):
                found.append(line)
    return found


def _status(entry: Path) -> str:
    try:
        return (entry / "status").read_text()
    except OSError:
        return ""


@pytest.mark.parametrize("world", [1, 2])
def test_every_cell_is_described_sampled_and_completed(recorder, campaign, world: int) -> None:
    manifest = campaign(world)
    seen: list[CellProgress] = []
    summary = run_campaign(manifest, recorder, progress=seen.append)

    assert summary.ok
    assert summary.completed == manifest.keys
    assert [(attempt.cell, attempt.number, attempt.sealed) for attempt in recorder.attempts] == [
        (key, 1, True) for key in manifest.keys
    ]
    for attempt in recorder.attempts:
        types = [type_ for type_, _, _ in attempt.events]
        assert types[:2] == ["cell.started", "cell.described"]
        assert types[-1] == "cell.completed"
        (described,) = attempt.of("cell.described")
        labels = [candidate["label"] for candidate in described["candidates"]]
        assert labels[0] == "no_sharing"
        assert len(described["candidates"]) == len(set(labels)) == 4
        samples = attempt.of("sample.recorded")
        for role, rounds in (("warmup", 1), ("measured", 3)):
            for number in range(rounds):
                order = [s["candidate"] for s in samples if (s["role"], s["round"]) == (role, number)]
                assert order == labels[number:] + labels[:number]
        assert all(len(s["ms_ranks"]) == world and s["ms"] == max(s["ms_ranks"]) > 0 for s in samples)
        assert all(s["usable"] == (s["role"] == "measured") for s in samples)
        losses = {s["loss"] for s in samples}
        assert max(losses) == pytest.approx(min(losses), rel=1e-5)
        (completed,) = attempt.of("cell.completed")
        assert completed["usable"] == dict.fromkeys(labels, 3)
        assert [report["rank"] for report in completed["rank_reports"]] == list(range(world))
        assert {report["measured_samples"] for report in completed["rank_reports"]} == {12}
    assert [progress.state for progress in seen if progress.state != "measuring"] == ["started", "completed"] * 2
    assert seen[-1].samples == seen[-1].expected == 12


def test_the_environment_and_the_fingerprint_say_what_was_measured_on(recorder, campaign) -> None:
    run_campaign(campaign(1), recorder)
    (started,) = recorder.attempts[0].of("cell.started")
    (described,) = recorder.attempts[0].of("cell.described")
    assert started["environment"]["source_digest"] == described["fingerprint"]["source"]
    assert started["environment"]["versions"]["torch"].split("+")[0].count(".") == 2
    assert described["fingerprint"]["device_class"]["capability"].startswith("cpu:")
    assert described["fingerprint"]["geometry"]["hidden_size"] == 64
    assert described["facts"]["gdn_layers"] == 1


def test_an_automatic_choice_outside_the_family_is_timed_by_itself(recorder, campaign) -> None:
    # Two unlike groups: sharing only the longer prompt is no mandatory candidate, and free segments buy it.
    more = '[workloads.w]\nkind = "heterogeneous"\nparameters = { groups = [[2, 40, 3], [2, 4, 40]] }\n'
    manifest = campaign(1, more=more + '[[cells]]\nworkloads = ["w"]\nmodels = ["a"]\nshapes = ["tp1cp1"]\n')
    summary = run_campaign(
        manifest, recorder, skip_completed=set(manifest.keys[1:]), automatic=AutomaticChoice(version=7)
    )
    assert summary.completed == manifest.keys[:1]
    (described,) = recorder.attempts[0].of("cell.described")
    assert described["automatic_version"] == 7
    names = {sample["candidate"] for sample in recorder.attempts[0].of("sample.recorded")}
    assert ("automatic" in names) == (described["automatic"]["labels"] == ["automatic"])


def test_completed_cells_are_skipped_and_a_new_attempt_counts_on(recorder, campaign) -> None:
    manifest = campaign(1)
    recorder.before[manifest.keys[1]] = 2
    summary = run_campaign(manifest, recorder, skip_completed={manifest.keys[0]})
    assert summary.skipped == manifest.keys[:1]
    assert [(attempt.cell, attempt.number) for attempt in recorder.attempts] == [(manifest.keys[1], 3)]


def fail_first(recorder, manifest, fault: Fault):
    """Run with a fault in the first cell; its failure, after checking that the second one completed."""
    run = CampaignRun(manifest, recorder, faults={manifest.keys[0]: fault})
    summary = run.run()
    assert not summary.ok
    assert summary.completed == manifest.keys[1:]
    assert list(summary.failed) == [manifest.keys[0]]
    first = recorder.attempts[0]
    type_, failure = first.end
    assert type_ == "cell.failed"
    assert first.sealed
    assert failure["samples"] == len([s for s in first.of("sample.recorded") if s["role"] == "measured"])
    assert processes_of() == []
    return failure


@pytest.mark.parametrize(
    ("kind", "expected", "codes", "words"),
    [
        ("exception", "exception", [1], "a fault that a test asked for"),
        ("kill", "killed", [-signal.SIGKILL], "SIGKILL"),
        ("non_finite", "non_finite_loss", [1], "loss by rank nan"),
        ("out_of_memory", "out_of_memory", [1], "allocate"),
        ("leave", "incomplete", [0], "end report"),
    ],
)
def test_a_failure_on_one_rank_is_recorded_and_the_next_cell_runs(
    recorder, campaign, kind: str, expected: str, codes: list[int], words: str
) -> None:
    failure = fail_first(recorder, campaign(1), Fault(kind=kind, round=1))
    assert failure["kind"] == expected
    assert failure["exit_codes"] == codes
    assert words in failure["message"]
    # The first round was complete when the fault struck at the start of the second.
    assert failure["samples"] == 4


@pytest.mark.parametrize(
    ("kind", "expected", "codes"),
    [("exception", "exception", [1, 1]), ("kill", "killed", [1, -signal.SIGKILL])],
)
def test_the_rank_that_failed_first_is_named_not_the_one_that_lost_its_peer(
    recorder, campaign, kind: str, expected: str, codes: list[int]
) -> None:
    failure = fail_first(recorder, campaign(2), Fault(kind=kind, rank=1, round=2))
    assert failure["kind"] == expected
    assert failure["exit_codes"] == codes
    assert "rank 1" in failure["message"]
    assert len(failure["last_collectives"]) == 2
    assert "--- rank 0" in failure["log_tail"]


def test_a_hang_ends_with_its_limit_and_names_each_ranks_last_collective(recorder, campaign) -> None:
    failure = fail_first(recorder, campaign(2, timeout_s=12.0), Fault(kind="hang", rank=1, round=1))
    assert failure["kind"] == "timeout"
    assert failure["exit_codes"] == [None, None]
    waiting, stuck = failure["last_collectives"]
    assert "all_reduce over tp" in waiting
    assert "barrier over control" in stuck
    # Each process was asked for its stacks before it was ended.
    assert "_hang" in failure["log_tail"]


def test_an_unexpected_end_of_one_rank_with_success_is_still_no_success(recorder, campaign) -> None:
    failure = fail_first(recorder, campaign(2), Fault(kind="leave", rank=1, round=1))
    assert failure["kind"] in {"exception", "incomplete"}
    assert failure["exit_codes"][1] == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_runner_closes_the_attempt_and_leaves_no_process(recorder, campaign, number: int) -> None:
    manifest = campaign(1)
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
    assert recorder.attempts[0].end[1]["kind"] == "interrupted"
    assert recorder.attempts[0].end[1]["samples"] == 4
    assert len(recorder.attempts) == 1
    assert processes_of() == []


def test_one_rank_that_compiles_in_a_warm_up_makes_all_ranks_warm_up_once_more(recorder, campaign) -> None:
    manifest = campaign(2)
    fault = Fault(kind="recompile", rank=1, role="warmup", round=0)
    summary = CampaignRun(manifest, recorder, faults={manifest.keys[0]: fault}).run()
    assert summary.ok
    rounds = [{s["round"] for s in a.of("sample.recorded") if s["role"] == "warmup"} for a in recorder.attempts]
    assert rounds == [{0, 1}, {0}]


def test_a_sample_that_compiled_is_kept_not_used_and_made_up_for(recorder, campaign) -> None:
    manifest = campaign(1)
    protocol = manifest.protocol.model_copy(update={"extra_rounds": 2})
    manifest = manifest.model_copy(update={"protocol": protocol})
    run = CampaignRun(manifest, recorder, faults={manifest.keys[0]: Fault(kind="recompile", round=1)})
    assert run.run().ok
    samples = [s for s in recorder.attempts[0].of("sample.recorded") if s["role"] == "measured"]
    (unusable,) = [s for s in samples if not s["usable"]]
    assert unusable["compile_events"] >= 1
    assert unusable["reason"].startswith("compiled")
    assert {s["round"] for s in samples} == {0, 1, 2, 3}
    assert recorder.attempts[0].end[1]["usable"][unusable["candidate"]] == 3


def test_without_extra_rounds_a_compiled_sample_fails_the_cell(recorder, campaign) -> None:
    failure = fail_first(recorder, campaign(1), Fault(kind="recompile", round=1))
    assert failure["kind"] == "incomplete"
    assert "fewer than 3 usable" in failure["message"]


def test_a_missing_corpus_fails_its_cell_alone(recorder, campaign, tmp_path) -> None:
    more = f'[workloads.f]\nkind = "file"\nparameters = {{ path = "{tmp_path / "none.jsonl"}" }}\n'
    more += '[[cells]]\nworkloads = ["f"]\nmodels = ["a"]\nshapes = ["tp1cp1"]\n'
    manifest = campaign(1, more=more)
    summary = run_campaign(manifest, recorder)
    assert summary.failed == {manifest.keys[0]: "missing_corpus"}
    assert summary.completed == manifest.keys[1:]


def test_samples_say_how_long_their_ranks_waited_for_a_processor(recorder, campaign) -> None:
    run_campaign(campaign(2), recorder)
    samples = recorder.attempts[0].of("sample.recorded")
    assert all(len(s["run_delay_pct"]) == 2 and min(s["run_delay_pct"]) >= 0 for s in samples)
    assert all(math.isfinite(delay) for s in samples for delay in s["run_delay_pct"])


def test_a_killed_runner_leaves_no_rank_behind(campaign, tmp_path) -> None:
    """SIGKILL of the runner's process: nothing of ours can clean up, the kernel must."""
    script = tmp_path / "run.py"
    script.write_text(
        "import json, sys\n"
        "from harness._job import Fault\n"
        "from harness._runner import CampaignRun\n"
        "from schemas import Manifest\n"
        "class Kept:\n"
        "    def attempts_of(self, cell): return 0\n"
        "    def open_attempt(self, plan, number): return self\n"
        "    def append(self, type, data, *, durable):\n"
        "        if type == 'cell.described': print('described', flush=True)\n"
        "    def seal(self): pass\n"
        "manifest = Manifest.model_validate_json(sys.stdin.read())\n"
        "CampaignRun(manifest, Kept(), faults={manifest.keys[0]: Fault(kind='hang')}).run()\n"
    )
    import subprocess
    import sys

    manifest = campaign(2)
    process = subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin and process.stdout
    process.stdin.write(json.dumps(manifest.plain()))
    process.stdin.close()
    assert process.stdout.readline() == "described\n"
    family = descendants(process.pid)
    # Two ranks, and a process for the cell in each.
    assert len(family) == 4
    process.kill()
    process.wait()
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
    status = _status(Path(f"/proc/{pid}"))
    return bool(status) and "State:\tZ" not in status
