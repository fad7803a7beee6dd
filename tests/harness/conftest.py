"""Small campaigns, a recorder that keeps what it is given, and one run with many faults for many tests."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness._campaign import parse_campaign
from harness._job import Fault
from harness._runner import CampaignRun, CampaignSummary
from schemas import PAYLOADS, CellPlan, Manifest

CAMPAIGN = """
campaign = "small"
table_id = "small"
[protocol]
rounds = 3
required = 3
extra_rounds = {extra_rounds}
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
"""
WORKLOAD = """
[workloads.{name}]
kind = "grpo"
parameters = {{ prompts = 2, completions = 2, system = 6, prompt = 5, completion = 3 }}
[[cells]]
workloads = ["{name}"]
models = ["{model}"]
shapes = ["{shape}"]
"""


def small_campaign(
    names: Sequence[str],
    *,
    shape: str = "tp1cp1",
    model: str = "a",
    timeout_s: float = 60.0,
    extra_rounds: int = 0,
    more: str = "",
) -> Manifest:
    """A cell for each name, of four candidates; each takes a moment once its ranks are up."""
    cells = "".join(WORKLOAD.format(name=name, model=model, shape=shape) for name in names)
    text = CAMPAIGN.format(timeout_s=timeout_s, extra_rounds=extra_rounds)
    return parse_campaign(text + cells + more, "small.toml")


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

    def samples(self, role: str = "measured") -> list[dict[str, Any]]:
        return [sample for sample in self.of("sample.recorded") if sample["role"] == role]

    @property
    def failure(self) -> dict[str, Any]:
        type_, data, durable = self.events[-1]
        assert (type_, durable, self.sealed) == ("cell.failed", True, True)
        return data

    @property
    def completion(self) -> dict[str, Any]:
        type_, data, durable = self.events[-1]
        assert (type_, durable, self.sealed) == ("cell.completed", True, True)
        return data


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

    def named(self, name: str) -> KeptAttempt:
        """The one attempt of the workload's cell."""
        (attempt,) = [attempt for attempt in self.attempts if attempt.cell.startswith(f"{name}|")]
        return attempt


@dataclass
class Ran:
    """A campaign that was run, what it recorded, and how it ended."""

    manifest: Manifest
    recorder: KeptRecorder
    summary: CampaignSummary


def run_with_faults(manifest: Manifest, faults: Mapping[str, Fault]) -> Ran:
    """Run a campaign whose named workloads suffer faults."""
    recorder = KeptRecorder()
    by_key = {key: faults[key.split("|")[0]] for key in manifest.keys if key.split("|")[0] in faults}
    return Ran(manifest, recorder, CampaignRun(manifest, recorder, faults=by_key).run())


@pytest.fixture
def recorder() -> KeptRecorder:
    return KeptRecorder()


@pytest.fixture
def campaign():
    return small_campaign


ONE_RANK_FAULTS = {
    "exception": Fault(kind="exception", round=1),
    "kill": Fault(kind="kill", round=1),
    "nan": Fault(kind="non_finite", round=1),
    "memory": Fault(kind="out_of_memory", round=1),
    "leave": Fault(kind="leave", round=1),
    "compile": Fault(kind="recompile", round=1),
}
TWO_RANK_FAULTS = {
    "exception": Fault(kind="exception", rank=1, round=1),
    "kill": Fault(kind="kill", rank=1, round=1),
    "leave": Fault(kind="leave", rank=1, round=1),
    "warm": Fault(kind="recompile", rank=1, role="warmup"),
    "hang": Fault(kind="hang", rank=1, round=1),
}


@pytest.fixture(scope="session")
def one_rank() -> Ran:
    """One process at a time: a plain cell before, between and after cells that fail."""
    names = ["first", *ONE_RANK_FAULTS, "last"]
    return run_with_faults(small_campaign(names, model="h"), ONE_RANK_FAULTS)


@pytest.fixture(scope="session")
def two_ranks() -> Ran:
    """Two ranks: plain cells on both shapes, and cells in which the second rank fails."""
    more = '[[cells]]\nworkloads = ["last"]\nmodels = ["h"]\nshapes = ["tp1cp2"]\n'
    names = ["first", *TWO_RANK_FAULTS, "last"]
    manifest = small_campaign(names, shape="tp2cp1", timeout_s=15.0, more=more)
    return run_with_faults(manifest, TWO_RANK_FAULTS)


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
