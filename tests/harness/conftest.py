"""Small campaigns, a recorder that keeps what it is given, and one run with many faults for many tests."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from harness._campaign import parse_campaign
from harness._interrupt import StopSignals
from harness._job import AutomaticChoice, Fault, Work
from harness._launch import CellOutcome
from harness._runner import CampaignRun, CampaignSummary, CellProgress
from harness.engines import Engine, LocalEngine, Reports
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
{protocol}
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
    timeout_s: float = 300.0,
    extra_rounds: int = 0,
    protocol: str = "",
    more: str = "",
) -> Manifest:
    """A cell for each name, of four candidates; each takes a moment once its ranks are up."""
    cells = "".join(WORKLOAD.format(name=name, model=model, shape=shape) for name in names)
    text = CAMPAIGN.format(timeout_s=timeout_s, extra_rounds=extra_rounds, protocol=protocol)
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
    """A campaign that was run, what it recorded and told, how it ended, and which processes it left."""

    manifest: Manifest
    recorder: KeptRecorder
    progress: list[CellProgress]
    summary: CampaignSummary
    left_running: list[int]

    def key(self, name: str) -> str:
        """The key of the workload's first cell."""
        return next(key for key in self.manifest.keys if key.startswith(f"{name}|"))


def run_with_faults(
    manifest: Manifest,
    faults: Mapping[str, Fault],
    *,
    engine: Engine | None = None,
    before: Mapping[str, int] | None = None,
    skip: Sequence[str] = (),
    automatic: AutomaticChoice | None = None,
) -> Ran:
    """Run a campaign whose named workloads suffer faults; `before` and `skip` are workload names too."""
    recorder, progress = KeptRecorder(), []
    keys = {key.split("|")[0]: key for key in manifest.keys}
    recorder.before.update({keys[name]: count for name, count in (before or {}).items()})
    others = processes_below(os.getpid())
    summary = CampaignRun(
        manifest,
        recorder,
        progress=progress.append,
        automatic=automatic or AutomaticChoice(),
        engine=engine or LocalEngine(),
        faults={keys[name]: fault for name, fault in faults.items()},
    ).run({keys[name] for name in skip})
    left = [pid for pid in processes_below(os.getpid()) if pid not in others]
    return Ran(manifest, recorder, progress, summary, left)


def processes_below(pid: int) -> list[int]:
    """Every process below this one, zombies too."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (thread / "children").read_text().split()):
            found += [child, *processes_below(child)]
    return found


class Lying:
    """Reports that say of some cells that all went well, whatever became of them; of others the truth."""

    def __init__(self, reports: Reports) -> None:
        self.reports = reports

    def began(self, plan: CellPlan, environment: Mapping[str, Any]) -> None:
        self.reports.began(plan, environment)

    def said(self, plan: CellPlan, type_: str, data: dict[str, Any]) -> None:
        lost = plan.identity.workload == "lost" and data.get("round") == 2
        if not lost:
            self.reports.said(plan, type_, data)

    def ended(self, plan: CellPlan, outcome: CellOutcome) -> None:
        if plan.identity.workload == "masked":
            outcome = replace(outcome, exit_codes=[0] * len(outcome.exit_codes), failures={})
        if plan.identity.workload == "silent":
            outcome = replace(outcome, reports={})
        self.reports.ended(plan, outcome)


class LyingEngine(LocalEngine):
    """Real ranks, of whose cells `masked`, `lost` and `silent` too much is said."""

    def run(self, work: Work, reports: Reports, stop: StopSignals) -> None:
        super().run(work, Lying(reports), stop)


@pytest.fixture
def recorder() -> KeptRecorder:
    return KeptRecorder()


@pytest.fixture
def campaign():
    return small_campaign


@pytest.fixture
def descendants() -> Callable[[int], list[int]]:
    return processes_below


ONE_RANK_FAULTS = {
    "masked": Fault(kind="exception", round=1),
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
    "stall": Fault(kind="stall", rank=1, round=1),
}


# One that is priced far above the small cells, which are around 50 kB, and one whose corpus is not there.
MORE_CELLS = """
[workloads.large]
kind = "unique"
parameters = { rows = 4, length = 400 }
[workloads.absent]
kind = "file"
parameters = { path = "/nowhere/corpus.jsonl" }
[[cells]]
workloads = ["large", "absent"]
models = ["h"]
shapes = ["tp1cp1"]
"""


@pytest.fixture(scope="session")
def one_rank() -> Ran:
    """One process at a time: plain cells before, between and after cells that fail, each in its way."""
    names = ["first", *ONE_RANK_FAULTS, "lost", "silent", "again", "done", "last"]
    manifest = small_campaign(
        names, model="h", extra_rounds=1, protocol="memory_limit_bytes = 200_000", more=MORE_CELLS
    )
    return run_with_faults(
        manifest,
        ONE_RANK_FAULTS,
        engine=LyingEngine(),
        before={"again": 2},
        skip=["done"],
        automatic=AutomaticChoice(version=7, coefficients={"token_per_rank": 5}),
    )


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
