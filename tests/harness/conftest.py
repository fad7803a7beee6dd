"""A small campaign and a recorder that keeps what it is given, for tests that start real ranks."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness._campaign import parse_campaign
from schemas import PAYLOADS, CellPlan, Manifest

CAMPAIGN = """
campaign = "small"
table_id = "small"
[protocol]
rounds = 3
required = 3
warmup_limit = 3
disturbed_pct = 1e9
timeout_s = {timeout_s}
[fit]
terms = ["token_per_rank"]
[models.h]
preset = "hybrid-small"
parameters = {{ layers = 2, attention_interval = 2 }}
[models.a]
preset = "attention-small"
parameters = {{ layers = 1 }}
[workloads.g]
kind = "grpo"
parameters = {{ prompts = 2, completions = 2, system = 6, prompt = 5, completion = 3 }}
[workloads.u]
kind = "unique"
parameters = {{ rows = 3, length = 7 }}
{more}
"""
CELLS = {
    1: '[[cells]]\nworkloads = ["g"]\nmodels = ["h", "a"]\nshapes = ["tp1cp1"]\n',
    2: '[[cells]]\nworkloads = ["g"]\nmodels = ["a"]\nshapes = ["tp2cp1", "tp1cp2"]\n',
}


def small_campaign(world: int, *, timeout_s: float = 60.0, more: str = "") -> Manifest:
    """Two cells that one or two ranks measure in well under a second."""
    return parse_campaign(CAMPAIGN.format(timeout_s=timeout_s, more=more + CELLS[world]), "small.toml")


@dataclass
class KeptAttempt:
    """What was appended; refuses what a ledger would."""

    cell: str
    number: int
    events: list[tuple[str, dict[str, Any], bool]] = field(default_factory=list)
    sealed: bool = False

    def append(self, type: str, data: dict[str, Any], *, durable: bool) -> None:
        assert not self.sealed
        assert PAYLOADS[type].model_validate(data).plain() == data
        self.events.append((type, data, durable))

    def seal(self) -> None:
        assert not self.sealed
        self.sealed = True

    def of(self, type: str) -> list[dict[str, Any]]:
        return [data for name, data, _ in self.events if name == type]

    @property
    def end(self) -> tuple[str, dict[str, Any]]:
        return self.events[-1][:2]


@dataclass
class KeptRecorder:
    """A ledger in memory."""

    attempts: list[KeptAttempt] = field(default_factory=list)
    before: Counter[str] = field(default_factory=Counter)

    def attempts_of(self, cell: str) -> int:
        return self.before[cell] + sum(attempt.cell == cell for attempt in self.attempts)

    def open_attempt(self, plan: CellPlan, number: int) -> KeptAttempt:
        self.attempts.append(KeptAttempt(plan.identity.key, number))
        return self.attempts[-1]


@pytest.fixture
def recorder() -> KeptRecorder:
    return KeptRecorder()


@pytest.fixture
def campaign():
    return small_campaign


@pytest.fixture
def run_ranks(tmp_path: Path) -> Callable[..., None]:
    """Start one process per rank of `rank_program.py`; every one must end with exit status 0."""

    def run(check: str, *, tp: int, cp: int, given: dict[str, Any] | None = None) -> None:
        data = tmp_path / "given.json"
        data.write_text(json.dumps(given or {}))
        program = Path(__file__).with_name("rank_program.py")
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(program.parents[2])}
        ranks = [
            subprocess.Popen(
                [sys.executable, program, check, str(rank), str(tp), str(cp), tmp_path / "store", data],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env=environment,
            )
            for rank in range(tp * cp)
        ]
        try:
            outputs = [rank.communicate(timeout=300)[0] for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
        assert [rank.returncode for rank in ranks] == [0] * len(ranks), "\n".join(outputs)

    return run
