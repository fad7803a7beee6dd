"""Manifests with names that a shell would trip over, and a stand-in that records how runners call it."""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from schemas import Manifest

# What the runner is tested for is what it passes on: this writes down each argument, and fails where told.
PROBE = """\
#!/bin/sh
for argument in "$@"; do printf '%s\\0' "$argument" >> "$PROBE_LOG"; done
printf '\\0' >> "$PROBE_LOG"
echo "told to ${1} ${2}"
for argument in "$@"; do [ "$argument" = "${PROBE_FAIL:-}" ] && exit 8; done
exit 0
"""


def manifest_of(
    workloads: Sequence[str],
    shapes: Sequence[Mapping[str, int]] = ({},),
    *,
    model: str = "m",
    title: str = "",
    devices: Sequence[str] = ("cpu",),
    campaign: str = "odd",
) -> Manifest:
    """A cell for each workload, shape and device in turn."""
    cells = [
        {
            "identity": {
                "workload": workload if index == 0 else f"{workload}-{device}",
                "family": "f",
                "model": model,
                "layers": 2,
                "shape": dict(shape),
            },
            "workload": {"kind": "unique", "parameters": {"rows": 2, "length": 4}},
            "model": {"preset": "attention-small"},
            "device": device,
        }
        for shape in shapes
        for index, device in enumerate(devices)
        for workload in workloads
    ]
    return Manifest.parse(
        {
            "campaign": campaign,
            "title": title,
            "table_id": "t",
            "cells": cells,
            "protocol": {"threads_per_rank": 3, "timeout_s": 100.0},
            "fit": {"terms": ["token_per_rank"]},
        },
        where="test",
    )


@dataclass(frozen=True)
class Ran:
    """How a script ended, and each call of the program that it made."""

    code: int
    output: str
    calls: list[list[str]]

    @property
    def cells(self) -> list[str]:
        pairs = (pair for call in self.calls for pair in pairwise(call))
        return [value for option, value in pairs if option == "--cell"]


@pytest.fixture(scope="session")
def manifest() -> Callable[..., Manifest]:
    return manifest_of


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose `layoutledger` is the stand-in."""
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "layoutledger"
    program.write_text(PROBE)
    program.chmod(0o755)
    return folder


@pytest.fixture(scope="session")
def run_script(probe: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Ran]:
    """Run a script's text under bash, in its own folder or, as a scheduler does, from its copy elsewhere."""

    def run(text: str, *, fail: str = "", copied: bool = False, **environment: str) -> Ran:
        folder = tmp_path_factory.mktemp("run")
        script = (tmp_path_factory.mktemp("spool") if copied else folder) / "runner.sh"
        script.write_bytes(text.encode())
        log = folder / "calls"
        log.touch()
        done = subprocess.run(
            ["bash", script],
            cwd=folder,
            env={
                **{name: value for name, value in os.environ.items() if not name.startswith("SLURM")},
                "PATH": f"{probe}:{os.environ['PATH']}",
                "PROBE_LOG": str(log),
                "PROBE_FAIL": fail,
                **environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=300,
        )
        calls = log.read_bytes().decode().split("\0\0")[:-1]
        return Ran(done.returncode, done.stdout.decode(), [call.split("\0") for call in calls])

    return run
