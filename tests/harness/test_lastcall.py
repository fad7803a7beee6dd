"""The last collective is readable from outside, also when its process is gone."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from harness._lastcall import LastCollective, read_last_collective

ROOT = Path(__file__).resolve().parents[2]


def test_the_latest_note_is_in_the_file(tmp_path):
    last = LastCollective(tmp_path / "rank0")
    assert read_last_collective(tmp_path / "rank0") == {}
    last.note("all_reduce", "tp", (128, 64))
    last.note("all_to_all", "cp", (2,))
    expected = {"operation": "all_to_all", "axis": "cp", "sequence": 2, "shape": [2]}
    assert read_last_collective(tmp_path / "rank0") == expected == last.record


def test_it_survives_a_kill(tmp_path):
    program = (
        "import os, signal, sys; from pathlib import Path; from harness._lastcall import LastCollective\n"
        "last = LastCollective(Path(sys.argv[1])); last.note('all_gather', 'cp', (5,))\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    path = tmp_path / "rank1"
    ended = subprocess.run([sys.executable, "-c", program, path], env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert ended.returncode == -signal.SIGKILL
    assert read_last_collective(path)["operation"] == "all_gather"


def test_a_missing_or_foreign_file_reads_as_nothing(tmp_path):
    assert read_last_collective(tmp_path / "none") == {}
    (tmp_path / "foreign").write_text("{not json")
    assert read_last_collective(tmp_path / "foreign") == {}
