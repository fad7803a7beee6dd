"""The main job through the program itself, on cells measured for real."""

import json
import shutil
from dataclasses import replace
from functools import partial

import pytest

from planner import OutsideDomainWarning, ParallelShape, RuntimeFacts, load
from tests.program import run_program
from tracker._certificates import check_certificate
from tracker._ledger import Ledger
from tracker._verification import verify_ledger
from tracker.mirror import push

CAMPAIGN = """
campaign = "small"
table_id = "small-table"
[protocol]
rounds = 3
required = 3
extra_rounds = 12
disturbed_pct = 1e9
[holdout]
contains = ["held-"]
[fit]
terms = ["token_per_rank", "tiny_segment_per_layer", "gdn_level"]
# Two small cells on a busy machine prove the path, not the table.
[gates]
pairwise_min_pct = 0.0
regret_median_max_pct = 1e9
regret_p95_max_pct = 1e9
regret_max_pct = 1e9
clear_winner_pct = 1e9
[models.small]
preset = "hybrid-small"
[workloads.grpo-a]
kind = "grpo"
parameters = { prompts = 2, completions = 3, system = 48, prompt = 24, completion = 8 }
# Sharing leaves a sixth of the tokens: the two layouts lie apart on the busiest machine.
[workloads.held-grpo]
kind = "grpo"
parameters = { prompts = 1, completions = 8, system = 96, prompt = 8, completion = 4 }
[[cells]]
workloads = ["grpo-a", "held-grpo"]
models = ["small"]
shapes = ["tp1cp1"]
[[cells]]
workloads = ["grpo-a"]
models = ["small"]
shapes = ["tp2cp1", "tp1cp2"]
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A folder with the campaign file, the ledger of its quickstart, and what that printed."""
    folder = tmp_path_factory.mktemp("measured")
    (folder / "small.toml").write_text(CAMPAIGN)
    printed = run_program(folder, "quickstart", "--campaign", folder / "small.toml", "--json")
    (folder / "result.json").write_text(printed)
    return folder


@pytest.fixture
def program(measured, tmp_path):
    """Run a command on a copy of the measured ledger: a ledger's folder can be copied."""
    shutil.copytree(measured / "ledger", tmp_path / "ledger")
    return partial(run_program, tmp_path)


def test_from_a_campaign_file_to_a_planned_batch(measured, program, tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    result = json.loads((measured / "result.json").read_text())
    assert result["version"] == 2
    assert result["passed"] is True
    assert len(result["picks"]) == 2
    assert result["picks"][1]["measured_ms"] > 0

    ledger = Ledger(tmp_path / "ledger")
    assert [cell["state"] for cell in ledger.cell_states("small")] == ["completed"] * 4
    (file,) = (ledger.store / "certificates").glob("small-*.json")
    _, checks = check_certificate(file, ledger, refit=True)
    assert [check for check in checks if not check.passed] == []
    assert verify_ledger(ledger) == []
    assert push(ledger.log).created == ()
    again = json.loads(program("quickstart", "--campaign", measured / "small.toml", "--json"))
    assert again["table"] == result["table"]


@pytest.mark.slow(seconds=60)
def test_a_bundle_of_tables_measured_here_and_on_h200_serves_each_its_own(program, tmp_path, shared):
    program("import", "art-certificate", shared / "evidence" / "h200-dense-h2560.certificate.json")
    for verb in ("fit", "certify"):
        program(verb, "dense-h2560-h200-bf16", "--json")
    both = json.loads(program("register", "small", "dense-h2560-h200-bf16", "--json"))
    assert both["version"] == 3

    store = f"sqlite:///{tmp_path}/ledger/mlflow/mlflow.db"
    version = load("layout-cost", version=3, tracking_uri=store)
    here, h200 = (table.domain for table in version.tables)
    for table in version.tables:
        domain = table.domain
        runtime = RuntimeFacts(
            next(iter(domain.device_classes)),
            next(iter(domain.dtypes)),
            next(iter(domain.geometries)),
            ParallelShape(),
            layers=4,
            gdn_layers=3,
        )
        assert version.select_scoring(runtime).coefficients == table.coefficients
        for elsewhere in (
            replace(runtime, device=replace(runtime.device, memory="70g-to-120g")),
            replace(runtime, dtype="float16"),
            replace(runtime, geometry=replace(runtime.geometry, hidden_size=77)),
            replace(runtime, geometry=replace(runtime.geometry, moe_experts=8, moe_topk=2)),
            replace(runtime, shape=ParallelShape(tp=8)),
            replace(runtime, grad=False),
        ):
            with pytest.warns(OutsideDomainWarning):
                assert version.select_scoring(elsewhere).coefficients is None
    assert set(here.device_classes).isdisjoint(h200.device_classes)
