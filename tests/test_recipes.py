"""Runners on real cells: one fails for real, its exit status comes through, and the others are measured."""

import getpass
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from harness import load_campaign
from harness.recipes import RecipeOptions, write_runners
from tracker._ledger import Ledger
from tracker.log import Log, iter_segment, verify_log

CAMPAIGN = """
campaign = "small"
table_id = "small"
[protocol]
rounds = 2
required = 2
disturbed_pct = 1e9
[fit]
terms = ["token_per_rank"]
[models.small]
preset = "attention-small"
parameters = { layers = 1 }
# Its file is gone when the cell is to run.
[workloads."it's broken"]
kind = "file"
parameters = { path = "rows.jsonl" }
[workloads.whole]
kind = "unique"
parameters = { rows = 2, length = 8 }
[[cells]]
workloads = ["it's broken", "whole"]
models = ["small"]
shapes = ["tp1cp1"]
"""
REPOSITORY = Path(__file__).resolve().parent.parent
BROKEN, WHOLE = "it's broken|small|L1|tp1|cp1", "whole|small|L1|tp1|cp1"
WITHOUT_MLFLOW = """
import sys
sys.modules.update(dict.fromkeys(["mlflow", "jinja2", "matplotlib"]))
from tracker.cli import main
main()
"""
ROWS = "[1, 2, 3, 4]\n[1, 2, 5, 6]\n"


@dataclass(frozen=True)
class Place:
    """A folder with the campaign, its runners and a ledger."""

    folder: Path

    @property
    def rows(self) -> Path:
        return self.folder / "rows.jsonl"

    @property
    def runners(self) -> Path:
        return self.folder / "recipes" / "small"

    @property
    def environment(self) -> dict[str, str]:
        unset = ("SLURM", "MLFLOW_TRACKING")
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith(unset)},
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "LAYOUTLEDGER_STORE": str(self.folder / "ledger"),
            "OMP_NUM_THREADS": "1",
            "MLFLOW_DISABLE_TELEMETRY": "true",
        }

    def install(self, program: str) -> None:
        """Let `layoutledger` be this Python program."""
        path = self.folder / "bin" / "layoutledger"
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c \'{program}\' "$@"\n')
        path.chmod(0o755)

    def call(self, *command: object, cwd: Path | None = None, **environment: str) -> tuple[int, str]:
        """Exit status and output of a command."""
        done = subprocess.run(
            list(map(str, command)),
            cwd=cwd or self.folder,
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        return done.returncode, done.stdout

    def write(self, engine: str, cells_per_job: int | None = None) -> None:
        """Runners, written while the corpus is there; then it goes."""
        self.rows.write_text(ROWS)
        manifest = load_campaign(self.folder / "small.toml")
        write_runners(manifest, engine, self.runners, RecipeOptions(cells_per_job))
        self.rows.unlink()

    def states(self) -> dict[str, str]:
        return {cell["cell"]: cell["state"] for cell in Ledger(self.folder / "ledger").cell_states("small")}

    def recorded(self, type_: str) -> list[dict]:
        """Data of the log's events of a type."""
        events = [e for p in Log(self.folder / "ledger").segments() for e in iter_segment(p.path)]
        return [event.data for event in events if event.type == type_]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "small.toml").write_text(CAMPAIGN)
    (tmp_path / "bin").mkdir()
    place = Place(tmp_path)
    place.install("from tracker.cli import main; main()")
    return place


def test_the_local_runner_fails_with_its_cell_and_measures_the_rest_also_without_mlflow(place) -> None:
    place.write("local")
    place.install(WITHOUT_MLFLOW)
    code, output = place.call("bash", place.runners / "local.sh")
    assert code == 8, output
    assert "missing_corpus" in output
    assert (place.runners / "logs" / "tp1cp1.log").read_text() == output
    assert place.states() == {BROKEN: "failed", WHOLE: "completed"}


@pytest.mark.slow(seconds=30)
def test_the_skypilot_task_fails_with_its_cell_and_pushes_what_there_is(place) -> None:
    place.write("skypilot")
    task = yaml.safe_load((place.runners / "skypilot-tp1cp1.yaml").read_text())
    shared = f"sqlite:///{place.folder / 'shared.db'}"
    code, output = place.call(
        "bash", "-c", task["run"], cwd=place.runners, MLFLOW_TRACKING_URI=shared, HOME=str(place.folder)
    )
    assert code == 8, output
    other = place.folder / "collected"
    for _ in range(2):
        code, output = place.call(
            "layoutledger", "pull", "--store", other, "--json", MLFLOW_TRACKING_URI=shared
        )
        assert code == 0, output
    assert place.states() == {BROKEN: "failed", WHOLE: "completed"}
    assert {p.segment for p in Log(other).segments()} == {
        p.segment for p in Log(place.folder / "ledger").segments()
    }


@pytest.mark.slow(seconds=25)
def test_the_slurm_script_without_slurm_fails_with_its_cell_and_again_runs_only_that(place) -> None:
    place.write("slurm", cells_per_job=1)
    code, output = place.call("bash", "slurm-tp1cp1.sbatch", cwd=place.runners)
    assert code == 8, output
    assert place.states() == {BROKEN: "failed", WHOLE: "completed"}
    place.rows.write_text(ROWS)
    code, output = place.call("bash", "slurm-tp1cp1.sbatch", cwd=place.runners)
    assert code == 0, output
    tried = Counter(data["identity"]["workload"] for data in place.recorded("cell.started"))
    assert tried == {"it's broken": 2, "whole": 1}


@pytest.mark.slow(seconds=20)
def test_runners_that_start_at_once_on_a_fresh_ledger_make_one_campaign(place) -> None:
    place.write("local")
    place.rows.write_text(ROWS)
    command = ["layoutledger", "campaign", "run", str(place.runners / "manifest.json"), "--cell"]
    running = [
        subprocess.Popen([*command, cell], env=place.environment, cwd=place.folder)
        for cell in (BROKEN, WHOLE)
    ]
    assert [each.wait(300) for each in running] == [0, 0]
    assert place.states() == {BROKEN: "completed", WHOLE: "completed"}
    assert len(place.recorded("campaign.opened")) == 1
    assert len(place.recorded("cell.started")) == 2
    assert verify_log(Log(place.folder / "ledger")) == []


@pytest.mark.slow(seconds=60)
def test_what_a_machine_without_network_measured_is_taken_home(place) -> None:
    source, wheels = place.folder / "source", place.folder / "wheels"
    for name in ("schemas", "planner", "fit", "harness", "tracker"):
        shutil.copytree(REPOSITORY / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, source)
    build = ("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, source)
    code, output = place.call(sys.executable, "-m", "pip", *build)
    assert code == 0, output
    place.rows.write_text(ROWS)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    script = REPOSITORY / "harness" / "campaigns" / "h200-single.sh"
    command = ("bash", script, "measure", wheels, "out")
    code, output = place.call(*command, PATH=path, CAMPAIGN="small.toml", TMPDIR=str(place.folder))
    assert code == 0, output
    (place.folder / "ledger").mkdir()
    code, output = place.call("tar", "-xzf", "out/log.tar.gz", "-C", "ledger", "--skip-old-files")
    assert code == 0, output
    assert place.states() == {BROKEN: "completed", WHOLE: "completed"}
    assert verify_log(Log(place.folder / "ledger")) == []


CLUSTER = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobs
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={processors} State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(number: int) -> list[int]:
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(number)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


@pytest.fixture
def slurm(tmp_path: Path) -> Iterator[Path]:
    """The configuration of a Slurm cluster of this machine alone, started for the test."""
    for program in ("slurmctld", "slurmd", "sbatch", "sinfo"):
        if shutil.which(program) is None:
            pytest.skip(f"Slurm's {program} is not installed (Debian: slurm-wlm)")
    folder = tmp_path / "slurm"
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    controller_port, node_port = free_ports(2)
    told = {
        "host": socket.gethostname().partition(".")[0],
        "user": getpass.getuser(),
        "processors": len(os.sched_getaffinity(0)),
    }
    config = folder / "slurm.conf"
    config.write_text(
        CLUSTER.format(folder=folder, controller_port=controller_port, node_port=node_port, **told)
    )
    release = subprocess.run(["slurmctld", "-V"], capture_output=True, text=True).stdout.split()[-1]
    since_23_11 = tuple(map(int, release.split(".")[:2])) >= (23, 11)
    (folder / "cgroup.conf").write_text(f"CgroupPlugin={'disabled' if since_23_11 else 'cgroup/v1'}\n")
    environment = {**os.environ, "SLURM_CONF": str(config)}
    with (folder / "output").open("wb") as output:
        daemons = [
            subprocess.Popen([daemon, "-D"], env=environment, stdout=output, stderr=output)
            for daemon in ("slurmctld", "slurmd")
        ]
    try:
        deadline = time.monotonic() + 60
        state = ["sinfo", "--noheader", "--format=%T"]
        while subprocess.run(state, env=environment, capture_output=True, text=True).stdout != "idle\n":
            if time.monotonic() > deadline or any(daemon.poll() is not None for daemon in daemons):
                pytest.skip(f"no Slurm node came up here: {(folder / 'output').read_text()[-800:]}")
            time.sleep(0.2)
        yield config
    finally:
        for daemon in daemons:
            daemon.terminate()
            daemon.wait(120)


@pytest.mark.slow(seconds=40)
def test_slurm_runs_the_array_and_reports_the_failing_cell_as_a_failed_task(place, slurm) -> None:
    place.write("slurm", cells_per_job=1)
    submit = ("sbatch", "--wait", "slurm-tp1cp1.sbatch")
    code, output = place.call(*submit, cwd=place.runners, SLURM_CONF=str(slurm))
    logs = "".join(path.read_text() for path in sorted(place.runners.glob("slurm-small.tp1cp1-*.out")))
    assert code == 8, output + logs
    assert place.states() == {BROKEN: "failed", WHOLE: "completed"}
    jobs = (slurm.parent / "jobs").read_text()
    ended = dict(re.findall(r"ArrayTaskId=(\d+) .*?ExitCode=(\d+:\d+)", jobs.replace("DerivedExitCode", "")))
    assert ended == {"0": "8:0", "1": "0:0"}
    place.rows.write_text(ROWS)
    code, output = place.call(*submit, cwd=place.runners, SLURM_CONF=str(slurm))
    assert code == 0, output
    assert place.states() == {BROKEN: "completed", WHOLE: "completed"}
    assert len(place.recorded("cell.started")) == 3
