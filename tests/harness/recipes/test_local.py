"""The shell script for one machine, under bash: what it passes on, and how it ends."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness.recipes import MANIFEST_FILE, RecipeOptions, write_recipe


@pytest.fixture
def plan(manifest):
    return manifest(["a", "b"], [{}, {"tp": 2}])


@pytest.fixture
def script(plan) -> str:
    return write_recipe(plan, "local", RecipeOptions(cells_per_job=1))["local.sh"]


def run_file(probe: Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run the folder's script from elsewhere."""
    path = f"{probe}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PROBE_LOG": str(folder / "calls")}
    command = ["bash", folder / "local.sh"]
    return subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True)


def test_each_call_names_the_manifest_its_digest_and_its_cells(plan, script, run_script) -> None:
    ran = run_script(script)
    assert ran.code == 0
    assert [call[:2] for call in ran.calls] == [["campaign", "run"]] * 4
    assert {os.path.basename(call[2]) for call in ran.calls} == {MANIFEST_FILE}
    assert {tuple(call[3:5]) for call in ran.calls} == {("--digest", plan.digest)}
    assert ran.cells == list(plan.keys)


def test_a_failure_behind_tee_is_the_scripts_own_and_later_cells_still_run(plan, script, run_script) -> None:
    for failing in (plan.keys[0], plan.keys[-1]):
        ran = run_script(script, fail=failing)
        assert ran.code == 8
        assert ran.cells == list(plan.keys)


def test_what_the_program_says_is_shown_and_kept_beside_the_script(script, probe, tmp_path) -> None:
    (tmp_path / "local.sh").write_text(script)
    for _ in range(2):
        done = run_file(probe, tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "told to campaign run\n" * 4
    logs = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert logs == ["tp1cp1-0.log", "tp1cp1-1.log", "tp2cp1-0.log", "tp2cp1-1.log"]
    assert (tmp_path / "logs" / "tp1cp1-0.log").read_text() == "told to campaign run\n" * 2


def test_a_log_that_cannot_be_written_is_a_failure(script, tmp_path, probe) -> None:
    (tmp_path / "local.sh").write_text(script)
    (tmp_path / "logs" / "tp2cp1-0.log").mkdir(parents=True)
    done = run_file(probe, tmp_path)
    assert done.returncode == 1
    assert "tp2cp1-0.log" in done.stderr


CAREFUL = """\
#!/bin/sh
# As the program does: on a signal it ends what is under way, says so, and exits with 8.
trap 'echo "closed the attempt"; exit 8' INT TERM
echo begun >> "$PROBE_LOG"
while :; do sleep 0.1; done
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_cell_under_way_in_order_and_begins_no_other(
    script, tmp_path, number: int, code: int
) -> None:
    (tmp_path / "local.sh").write_text(script)
    (tmp_path / "layoutledger").write_text(CAREFUL)
    (tmp_path / "layoutledger").chmod(0o755)
    log, kept = tmp_path / "calls", tmp_path / "logs" / "tp1cp1-0.log"
    running = subprocess.Popen(
        ["bash", tmp_path / "local.sh"],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PROBE_LOG": str(log)},
        start_new_session=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        # The program is under way, and what keeps its words has opened the file: it heeds no signal by then.
        while not (kept.exists() and log.exists() and log.read_text()):
            assert running.poll() is None
            time.sleep(0.01)
        os.killpg(running.pid, number)
        output = running.communicate(timeout=300)[0]
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
    assert running.returncode == code
    assert log.read_text() == "begun\n"
    assert output.splitlines()[-1] == "closed the attempt"
    assert kept.read_text() == output
