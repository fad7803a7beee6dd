"""The real program, as a process of its own."""

import os
import subprocess
import sys
from pathlib import Path


def run_program(folder: Path, *arguments: object, code: int = 0) -> str:
    """Run `layoutledger ARGUMENTS` on a folder's ledger; what it prints, errors too if it is to fail."""
    environment = os.environ | {
        "LAYOUTLEDGER_STORE": str(folder / "ledger"),
        "LAYOUTLEDGER_CACHE": str(folder / "cache"),
        "OMP_NUM_THREADS": "1",
    }
    environment.pop("MLFLOW_TRACKING_URI", None)
    done = subprocess.run(
        [sys.executable, "-m", "tracker", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=400,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stdout + done.stderr
