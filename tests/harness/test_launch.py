"""Ranks that never get as far as a cell; what happens later is in the runner's tests."""

import os

from harness._job import AutomaticChoice, Job, JobCell
from harness._launch import Launch
from harness._runner import run_campaign


def job_of(manifest, folder) -> Job:
    return Job(
        world_size=2,
        protocol=manifest.protocol,
        automatic=AutomaticChoice(),
        source="0" * 64,
        folder=str(folder),
        cells=(JobCell(plan=manifest.cells[0], rendezvous=f"file://{folder / 'meet'}"),),
    )


def test_ranks_that_die_at_the_start_fail_each_cell_as_not_launched(recorder, campaign, monkeypatch) -> None:
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    manifest = campaign(["g", "h"], shape="tp2cp1")
    summary = run_campaign(manifest, recorder)
    assert summary.failed == dict.fromkeys(manifest.keys, "launch")
    failure = recorder.attempts[0].failure
    # The first to die is enough; the other is ended, if it has not died by then too.
    assert 1 in failure["exit_codes"]
    assert "PYTHONHOME" in failure["log_tail"]


def test_ranks_that_take_too_long_to_start_are_ended(campaign, tmp_path) -> None:
    manifest = campaign(["g"], shape="tp2cp1")
    with Launch(job_of(manifest, tmp_path), start_limit_s=0.05) as launch:
        processes = [rank.process for rank in launch._ranks]
        outcome = launch.run(0, 60.0, lambda _type, _data: None)
        assert (outcome.started, outcome.timed_out, outcome.exit_codes) == (False, False, [None, None])
        assert not launch.alive
    assert all(process.poll() is not None for process in processes)


def test_a_closed_launch_has_let_go_of_processes_and_descriptors(campaign, tmp_path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with Launch(job_of(campaign(["g"], shape="tp2cp1"), tmp_path)) as launch:
        processes = [rank.process for rank in launch._ranks]
        groups = {os.getpgid(process.pid) for process in processes}
        assert groups == {processes[0].pid}
        assert os.getpgid(0) not in groups
    assert all(process.returncode is not None for process in processes)
    assert len(os.listdir("/proc/self/fd")) == before
