"""Campaigns on two real Ray nodes: a killed node, a stopped and a killed driver, a cell that fits nowhere."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness._job import Fault
from harness._runner import CampaignRun
from tracker._ledger import Ledger
from tracker.log import verify_log

pytestmark = pytest.mark.slow(seconds=60)

TOML = """
campaign = "small"
table_id = "small"
[protocol]
rounds = {rounds}
required = {rounds}
disturbed_pct = 1e9
[fit]
terms = ["token_per_rank"]
[models.a]
preset = "attention-small"
parameters = {{ layers = 1 }}
"""
CELL = """
[workloads.w{number}]
kind = "grpo"
parameters = {{ prompts = 2, completions = 2, system = 200, prompt = 100, completion = 50 }}
[[cells]]
workloads = ["w{number}"]
models = ["a"]
shapes = ["tp1cp1"]
"""


def wait_for(found: Callable[[], object], what: str, limit_s: float = 120.0):
    """What `found` gives once it gives something."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if thing := found():
            return thing
        time.sleep(0.05)
    raise AssertionError(f"waited {limit_s} s for {what}")


class Program:
    """A ledger's folder, the program run on it, and its log as it stands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = os.environ | {"LAYOUTLEDGER_STORE": str(folder / "ledger"), "OMP_NUM_THREADS": "1"}
        self.environment.pop("MLFLOW_TRACKING_URI", None)
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "tracker", *map(str, arguments)],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.processes.append(process)
        return process

    def run(self, *arguments: object, code: int = 0) -> str:
        return self.end(self.start(*arguments), code)

    @staticmethod
    def end(process: subprocess.Popen[str], code: int) -> str:
        output, _ = process.communicate(timeout=300)
        assert process.returncode == code, output
        return output

    def write_campaign(self, cells: int, rounds: int) -> Path:
        path = self.folder / "small.toml"
        text = "".join(CELL.format(number=number) for number in range(cells))
        path.write_text(TOML.format(rounds=rounds) + text)
        return path

    def attempts(self) -> list[list[dict]]:
        """The events of each attempt, as far as they are written, in the order of the attempts' beginning."""
        found = []
        for path in sorted((self.folder / "ledger" / "log" / "small").glob("*.jsonl")):
            try:
                lines = path.read_text().split("\n")[:-1]
            except FileNotFoundError:
                # Sealed, and so renamed, since the folder was listed.
                return self.attempts()
            events = [event for event in map(json.loads, lines) if event["type"] != "segment.opened"]
            if events and events[0]["type"] == "cell.started":
                found.append(events)
        return found

    def sampling(self) -> dict[str, list[dict]]:
        """The attempts under way that have a measured sample, by the node that they run on."""
        return {
            events[0]["data"]["environment"]["node"]: events
            for events in self.attempts()
            if events[-1]["type"] == "sample.recorded" and events[-1]["data"]["role"] == "measured"
        }

    def sql(self, query: str) -> list[dict]:
        return Ledger(self.folder / "ledger").warehouse.query(query).records()

    def damage(self) -> list[object]:
        return verify_log(Ledger(self.folder / "ledger").log)


@pytest.fixture
def ledger(tmp_path) -> Iterator[Program]:
    program = Program(tmp_path)
    yield program
    for process in program.processes:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def alive() -> Callable[[list[int]], list[int]]:
    def still(pids: list[int]) -> list[int]:
        found = []
        for pid in pids:
            try:
                state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            except FileNotFoundError:
                continue
            if state != "Z":
                found.append(pid)
        return found

    return still


def test_a_killed_nodes_cell_fails_and_a_new_attempt_completes_elsewhere(
    cluster, ledger, descendants, alive
) -> None:
    other = cluster.add_node()
    campaign = ledger.write_campaign(cells=3, rounds=15)
    runner = ledger.start("campaign", "run", campaign, "--engine", "ray", "--address", cluster.address)
    began = wait_for(lambda: ledger.sampling().get(other.node_id), "a cell on the second node")
    victim = began[0]["data"]["cell"]
    family = descendants(cluster.raylet(other))
    cluster.kill(other)
    output = ledger.end(runner, code=0)
    assert "was lost" in output
    assert "(raylet)" not in output

    (failure,) = ledger.sql("SELECT * FROM failures")
    assert (failure["cell"], failure["kind"]) == (victim, "node_lost")
    assert failure["samples"] > 0
    attempts = ledger.sql("SELECT cell, number, state, engine FROM attempts ORDER BY cell, number")
    ends = {(row["cell"], row["number"]): row["state"] for row in attempts}
    assert ends.pop((victim, 1)) == "failed"
    assert ends.pop((victim, 2)) == "completed"
    assert set(ends.values()) == {"completed"}
    assert [number for _, number in ends] == [1, 1]
    assert {row["engine"] for row in attempts} == {"ray"}
    assert other.node_id not in {
        events[0]["data"]["environment"]["node"]
        for events in ledger.attempts()
        if events[-2]["type"] == "cell.completed" and events[0]["data"]["cell"] == victim
    }
    assert ledger.damage() == []
    wait_for(lambda: not alive(family), "the end of the lost node's processes")


def test_a_stopped_and_a_killed_driver_lose_nothing_said_and_leave_no_process(
    cluster, ledger, descendants, alive
) -> None:
    campaign = ledger.write_campaign(cells=2, rounds=15)
    on_ray = ("--engine", "ray", "--address", cluster.address)
    runner = ledger.start("campaign", "run", campaign, *on_ray)
    wait_for(ledger.sampling, "a sample")
    family = ranks_below(descendants(cluster.raylet(cluster.nodes[0])))
    assert len(family) == 2
    runner.send_signal(signal.SIGTERM)
    assert "interrupted by SIGTERM" in ledger.end(runner, code=8)
    wait_for(lambda: not alive(family), "the end of the stopped ranks")
    (failure,) = ledger.sql("SELECT * FROM failures")
    assert (failure["kind"], failure["samples"] > 0) == ("interrupted", True)
    assert failure["last_collectives"]

    runner = ledger.start("campaign", "resume", "small", *on_ray)
    wait_for(ledger.sampling, "a sample of the second attempt")
    family = ranks_below(descendants(cluster.raylet(cluster.nodes[0])))
    assert len(family) == 2
    runner.kill()
    runner.communicate()
    wait_for(lambda: not alive(family), "the end of the killed driver's ranks")
    ledger.run("recover")
    failures = ledger.sql("SELECT kind, samples > 0 AS some FROM failures ORDER BY number")
    assert failures == [{"kind": "interrupted", "some": True}] * 2
    ledger.run("campaign", "resume", "small", *on_ray)
    # Each stop had caught the one cell that ran.
    attempts = ledger.sql("SELECT cell, state FROM attempts")
    assert len(attempts) == 4
    assert len({row["cell"] for row in attempts if row["state"] == "completed"}) == 2
    assert ledger.damage() == []


def test_a_cell_is_retried_no_more_than_allowed_and_fails_where_no_node_could_hold_it(
    cluster, campaign, recorder, descendants
) -> None:
    from harness.engines._ray import ray_engine

    large = cluster.add_node(processors=2)
    small = '[[cells]]\nworkloads = ["g"]\nmodels = ["a"]\nshapes = ["tp1cp1"]\n'
    manifest = campaign(["g"], shape="tp2cp1", timeout_s=300, more=small)
    pair, single = manifest.keys

    def kill_when_it_runs(progress) -> None:
        if progress.cell == pair and progress.samples == 4:
            cluster.kill(large)

    with ray_engine(cluster.address, retries=1, placement_limit_s=1.0) as engine:
        summary = CampaignRun(
            manifest,
            recorder,
            engine=engine,
            progress=kill_when_it_runs,
            faults={pair: Fault(kind="hang", round=1)},
        ).run()
    assert summary.completed == (single,)
    assert summary.failed == {pair: "launch"}
    first, second = [attempt for attempt in recorder.attempts if attempt.cell == pair]
    assert (first.failure["kind"], first.failure["samples"]) == ("node_lost", 4)
    assert first.failure["exit_codes"] == [None, None]
    assert (second.number, second.failure["kind"]) == (2, "launch")
    assert "needs 2 processors" in second.failure["message"]


def ranks_below(pids: list[int]) -> list[int]:
    """Those that are ranks of ours, or their processes for a cell."""
    return [pid for pid in pids if b"harness._worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]
