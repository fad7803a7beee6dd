"""Batch scripts: what they ask of Slurm, and what each task of the array measures, under bash."""

import shlex

import pytest

from harness._launch import START_LIMIT_S
from harness.recipes import RecipeOptions, write_recipe
from harness.recipes._slurm import time_limit_minutes
from schemas import Protocol


@pytest.fixture
def plan(manifest):
    return manifest(["a", "b", "c"], [{}, {"tp": 2, "cp": 2}])


def scripts(plan, **options) -> dict[str, str]:
    files = write_recipe(plan, "slurm", RecipeOptions(**options))
    return {name: text for name, text in files.items() if name.endswith(".sbatch")}


def asked(text: str) -> dict[str, str]:
    """Options by name, as Slurm splits them."""
    lines = [line.removeprefix("#SBATCH") for line in text.split("\n") if line.startswith("#SBATCH")]
    words = [word for line in lines for word in shlex.split(line)]
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def test_a_topology_asks_for_its_ranks_their_threads_and_a_machine_of_its_own(plan) -> None:
    files = scripts(plan)
    assert list(files) == ["slurm-tp1cp1.sbatch", "slurm-tp2cp2.sbatch"]
    wanted = asked(files["slurm-tp2cp2.sbatch"])
    assert {key: wanted[key] for key in ("--nodes", "--ntasks", "--cpus-per-task", "--array")} == {
        "--nodes": "1",
        "--ntasks": "4",
        "--cpus-per-task": "3",
        "--array": "0-0",
    }
    assert "--exclusive" in wanted
    assert not any(name.startswith("--gpu") for name in wanted)


def test_a_gpu_topology_asks_for_a_gpu_a_rank(manifest) -> None:
    plan = manifest(["a"], [{"cp": 2}], devices=["cpu", "cuda"])
    files = scripts(plan, accelerator="h200")
    assert list(files) == ["slurm-tp1cp2-cpu.sbatch", "slurm-tp1cp2-cuda.sbatch"]
    assert asked(files["slurm-tp1cp2-cuda.sbatch"])["--gpus"] == "h200:2"
    assert asked(scripts(plan)["slurm-tp1cp2-cuda.sbatch"])["--gpus"] == "2"


def test_the_time_limit_is_longer_than_all_that_the_runner_may_take(plan) -> None:
    for cells_per_job, cells in ((None, 3), (2, 2), (1, 1)):
        wanted = asked(scripts(plan, cells_per_job=cells_per_job)["slurm-tp1cp1.sbatch"])
        assert int(wanted["--time"]) * 60 > cells * (plan.protocol.timeout_s + START_LIMIT_S)
    assert time_limit_minutes(Protocol(timeout_s=390.0), 1) == 12


def test_each_task_measures_its_portion_and_without_slurm_all_of_them_run(plan, run_script) -> None:
    (text, _) = scripts(plan, cells_per_job=2).values()
    first, second, third = plan.keys[:3]
    for task, cells in (("0", [first, second]), ("1", [third])):
        ran = run_script(text, copied=True, SLURM_ARRAY_TASK_ID=task)
        assert (ran.code, ran.cells) == (0, cells)
    assert run_script(text).cells == [first, second, third]
    beyond = run_script(text, SLURM_ARRAY_TASK_ID="2")
    assert (beyond.code, beyond.calls) == (2, [])


def test_a_failure_behind_tee_is_the_tasks_own_and_later_portions_still_run(plan, run_script) -> None:
    (text, _) = scripts(plan, cells_per_job=1).values()
    ran = run_script(text, fail=plan.keys[0])
    assert (ran.code, ran.cells) == (8, list(plan.keys[:3]))
    assert run_script(text, fail=plan.keys[0], SLURM_ARRAY_TASK_ID="1").code == 0
