"""SkyPilot tasks: what they ask for, and their `run` section under bash."""

import subprocess

import pytest
import yaml

from harness import parse_campaign
from harness.recipes import RecipeOptions, write_recipe
from schemas import InvalidInputError


def tasks(plan, **options) -> dict[str, dict]:
    files = write_recipe(plan, "skypilot", RecipeOptions(**options))
    return {name: yaml.safe_load(text) for name, text in files.items() if name.endswith(".yaml")}


def test_a_task_asks_for_one_node_with_a_processor_a_thread_or_a_gpu_a_rank(manifest) -> None:
    plan = manifest(["a", "b"], [{"tp": 2}], devices=["cpu", "cuda"], campaign="a--b.c")
    found = tasks(plan, accelerator="H200", cells_per_job=1)
    assert list(found) == [f"skypilot-tp2cp1-{device}-{n}.yaml" for device in ("cpu", "cuda") for n in (0, 1)]
    assert {task["num_nodes"] for task in found.values()} == {1}
    assert found["skypilot-tp2cp1-cpu-0.yaml"]["resources"] == {"cpus": "6+"}
    assert found["skypilot-tp2cp1-cuda-1.yaml"]["resources"] == {"cpus": "6+", "accelerators": "H200:2"}
    # SkyPilot takes single separators only.
    assert found["skypilot-tp2cp1-cuda-1.yaml"]["name"] == "a-b-c-tp2cp1-cuda-1"


def test_a_gpu_has_to_be_named(manifest) -> None:
    with pytest.raises(InvalidInputError, match="--accelerator"):
        tasks(manifest(["a"], devices=["cuda"]))


def test_the_tracking_server_has_to_be_given_and_takes_what_was_measured(manifest, run_script) -> None:
    plan = manifest(["a", "b"])
    (task,) = tasks(plan).values()
    # Null: SkyPilot refuses to start the task until it is set.
    assert task["envs"] == {"MLFLOW_TRACKING_URI": None}
    for failing, code in (("", 0), (plan.keys[0], 8)):
        ran = run_script(task["run"], fail=failing)
        assert (ran.code, ran.cells) == (code, list(plan.keys))
        assert ran.calls[-1] == ["push", "--campaign", "odd"]
    # What could not be pushed is lost with the machine: the task fails.
    assert run_script(task["run"], fail="push").code == 8


def test_files_of_workloads_travel_to_the_same_path(tmp_path) -> None:
    text = """
campaign = "own"
table_id = "t"
[fit]
terms = ["token_per_rank"]
[models.m]
preset = "attention-small"
[workloads.w]
kind = "file"
parameters = { path = "rows of mine.jsonl" }
[[cells]]
workloads = ["w"]
models = ["m"]
shapes = ["tp1cp1", "tp2cp1"]
"""
    path = str(tmp_path / "rows of mine.jsonl")
    (tmp_path / "rows of mine.jsonl").write_text("[1, 2, 3]\n[1, 2, 4]\n")
    for task in tasks(parse_campaign(text, "own.toml", folder=tmp_path)).values():
        assert task["file_mounts"] == {path: path}


def test_what_is_installed_is_this_version_or_what_was_asked_for(manifest, tmp_path) -> None:
    plan = manifest(["a"], devices=["cpu", "cuda"])
    cpu, cuda = tasks(plan, accelerator="H200").values()
    assert "layoutledger[harness]==" in cpu["setup"]
    assert "layoutledger[gpu]==" in cuda["setup"]
    odd = "./my wheel's.whl[gpu]"
    (told, _) = tasks(plan, accelerator="H200", requirement=odd).values()
    # The real shell passes it on whole.
    (tmp_path / "uv").write_text('#!/bin/sh\nfor last in "$@"; do :; done\nprintf "%s\\n" "$last"\n')
    (tmp_path / "uv").chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", told["setup"]],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, odd)
