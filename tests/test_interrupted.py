"""The program stopped by Ctrl-C and by SIGTERM while it measures, and resumed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.slow(seconds=60)

CAMPAIGN = """
campaign = "stopped"
table_id = "stopped"
[protocol]
rounds = 15
required = 15
disturbed_pct = 1e9
[fit]
terms = ["token_per_rank"]
[models.a]
preset = "attention-small"
parameters = { layers = 1 }
[workloads.one]
kind = "grpo"
parameters = { prompts = 2, completions = 2, system = 200, prompt = 100, completion = 50 }
[workloads.two]
kind = "grpo"
parameters = { prompts = 2, completions = 2, system = 200, prompt = 80, completion = 60 }
[[cells]]
workloads = ["one", "two"]
models = ["a"]
shapes = ["tp1cp1"]
"""


def attempts(log: Path) -> list[list[dict]]:
    """The events of each attempt, as far as they are written."""
    found = []
    for path in sorted(log.glob("*.jsonl")):
        try:
            events = [json.loads(line) for line in path.read_text().split("\n")[:-1]]
        except FileNotFoundError:
            # Sealed, and so renamed, since the folder was listed.
            return attempts(log)
        of_cell = [event for event in events if event["type"].split(".")[0] in ("cell", "sample")]
        if of_cell:
            found.append(of_cell)
    return found


def test_a_stopped_campaign_ends_non_zero_leaves_no_process_and_resumes_with_what_is_missing(tmp_path):
    file, store = tmp_path / "stopped.toml", tmp_path / "ledger"
    file.write_text(CAMPAIGN)
    environment = os.environ | {"LAYOUTLEDGER_STORE": str(store), "OMP_NUM_THREADS": "1"}
    log = store / "log" / "stopped"

    def start(*arguments):
        return subprocess.Popen(
            [sys.executable, "-m", "tracker", "campaign", *map(str, arguments)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # A group of its own, as a shell gives each command: Ctrl-C goes to all of it.
            process_group=0,
        )

    def stop(runner, number: int, count: int) -> None:
        """Signal the group of the runner while its attempt of that number has measured samples."""
        end = time.monotonic() + 300
        while time.monotonic() < end:
            seen = attempts(log)
            last = seen[-1][-1] if len(seen) == count else {"type": ""}
            if last["type"] == "sample.recorded" and last["data"]["role"] == "measured":
                break
            time.sleep(0.05)
        family = psutil.Process(runner.pid).children(recursive=True)
        assert len(family) >= 2
        os.killpg(runner.pid, number)
        output, _ = runner.communicate(timeout=300)
        assert runner.returncode == 8, output
        assert f"interrupted by {signal.Signals(number).name}" in output
        assert psutil.wait_procs(family, timeout=120)[1] == []

    stop(start("run", file), signal.SIGINT, 1)
    stop(start("resume", "stopped"), signal.SIGTERM, 2)
    ends = [seen[-1] for seen in attempts(log)]
    assert [(end["type"], end["data"]["kind"]) for end in ends] == [("cell.failed", "interrupted")] * 2
    assert min(end["data"]["samples"] for end in ends) > 0
    assert all(end["data"]["last_collectives"] for end in ends)

    runner = start("resume", "stopped")
    output, _ = runner.communicate(timeout=400)
    assert runner.returncode == 0, output
    numbers = [(seen[0]["data"]["cell"].split("|")[0], seen[0]["data"]["number"]) for seen in attempts(log)]
    assert numbers == [("one", 1), ("one", 2), ("one", 3), ("two", 1)]
