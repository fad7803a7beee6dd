"""A small ledger, written by the real writer."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from schemas import (
    CellIdentity,
    CellPlan,
    EvidenceRoot,
    FitArguments,
    FitCompleted,
    GateVerdict,
    HoldoutRule,
    Manifest,
    Metrics,
    ModelSpec,
    ParallelShape,
    Protocol,
    WorkloadSpec,
)
from tracker.log import Log, SegmentWriter
from tracker.warehouse import Warehouse

LABELS = ("no_sharing", "depth_one", "full_sharing")


def identity(
    workload: str = "grpo-2x8", *, model: str = "hybrid", tp: int = 1, group: int | None = None
) -> CellIdentity:
    return CellIdentity(
        workload=workload, family="grpo", model=model, layers=4, shape=ParallelShape(tp=tp), group=group
    )


CELLS = (identity("grpo-2x8"), identity("grpo-4x4"), identity("grpo-2x8", tp=2))


def manifest(campaign: str = "demo", cells: Sequence[CellIdentity] = CELLS) -> Manifest:
    return Manifest(
        campaign=campaign,
        title="a demonstration",
        table_id="demo-table",
        cells=tuple(
            CellPlan(identity=cell, workload=WorkloadSpec(kind="grpo"), model=ModelSpec(preset="tiny"))
            for cell in cells
        ),
        protocol=Protocol(rounds=4, required=3),
        holdout=HoldoutRule(contains=("tp2",)),
        fit=FitArguments(terms=("token_per_rank",)),
    )


def features(tokens: int) -> dict[str, Any]:
    return {
        "packed_tokens": tokens,
        "segment_count": 3,
        "max_depth": 2,
        "segments_below": [0, 1, 1, 2, 2, 3, 3, 3],
    }


def candidate(label: str, tokens: int = 100) -> dict[str, Any]:
    return {
        "label": label,
        "labels": [label, f"{label}_too"],
        "decisions": [0, 2],
        "features": features(tokens),
    }


def fingerprint(source: str = "s1") -> dict[str, Any]:
    geometry = {
        "hidden_size": 64,
        "ffn_hidden_size": 128,
        "num_attention_heads": 4,
        "num_query_groups": 2,
        "kv_channels": 16,
    }
    return {
        "source": source,
        "workload": "w1",
        "device": "cpu",
        "device_class": {"capability": "cpu:x", "memory": "below-70g"},
        "dtype": "float32",
        "geometry": geometry,
    }


def facts(cell: CellIdentity) -> dict[str, Any]:
    return {
        "tp": cell.shape.tp,
        "cp": cell.shape.cp,
        "layers": cell.layers,
        "gdn_layers": 3,
        "uses_gdn": True,
    }


def sample(cell: CellIdentity, label: str, round: int, ms: float, **more: Any) -> dict[str, Any]:
    return {
        "cell": cell.key,
        "candidate": label,
        "role": "measured",
        "round": round,
        "position": 0,
        "ms": ms,
        "ms_ranks": [ms, ms / 2],
        "compile_events": 0,
        "run_delay_pct": [0.5, 1.0],
        "loss": 2.25,
        "usable": True,
        "reason": None,
        **more,
    }


def fit(plan: Manifest, number: int = 0) -> FitCompleted:
    metrics = Metrics(
        cells=3,
        ordered_pairs=9,
        pairwise_accuracy=0.9812938425565082,
        median_regret_pct=0.1,
        p95_regret_pct=2.87166214323753,
        max_regret_pct=None,
    )
    return FitCompleted(
        arguments=plan.fit,
        manifest_digest=plan.digest,
        evidence=EvidenceRoot(root="r", segments=("s",), events=1),
        training_cells=(CELLS[0].key, "gone"),
        holdout_cells=(CELLS[2].key,),
        excluded_cells=(),
        table_id="demo-table",
        table={"token_per_rank": 2002, "gdn_level": 2**60, "number": number},
        table_digest="d",
        metrics={"all": metrics, "train": metrics, "holdout": metrics},
        by_model={},
        by_shape={},
        by_family={},
        hand_set=metrics,
        gates=(GateVerdict(gate="pairwise", group="pooled", value=98.1, limit=90.0, passed=True),),
        passed=True,
    )


TIMES: dict[str, Sequence[float]] = {
    "no_sharing": (4.0, 3.0, 2.0, 1.0),
    "depth_one": (2.0, 8.0, 4.0),
    "full_sharing": (1.25, 1.5, 1.0),
}


class Recorder:
    """Writes segments of a ledger as the runner and the commands do."""

    cells = CELLS
    labels = LABELS
    times = TIMES
    identity = staticmethod(identity)
    manifest = staticmethod(manifest)
    sample = staticmethod(sample)
    candidate = staticmethod(candidate)
    fingerprint = staticmethod(fingerprint)
    facts = staticmethod(facts)
    features = staticmethod(features)
    fit = staticmethod(fit)

    def __init__(self, store: Path) -> None:
        self.store = store
        self.log = Log(store, sync_events=10_000)

    def open_campaign(self, plan: Manifest) -> str:
        with self.log.open_segment(plan.campaign, "campaign") as segment:
            segment.append("campaign.opened", {"manifest": plan.plain(), "manifest_digest": plan.digest})
        return segment.segment

    def one(self, campaign: str, unit: str, type: str, data: dict[str, Any]) -> str:
        with self.log.open_segment(campaign, unit) as segment:
            segment.append(type, data)
        return segment.segment

    def exclude(self, campaign: str, cell: CellIdentity, reason: str) -> str:
        data = {"cell": cell.key, "reason": reason, "reference": "", "by": "me"}
        return self.one(campaign, "exclusion", "cell.excluded", data)

    def begin(
        self,
        campaign: str,
        cell: CellIdentity,
        number: int = 1,
        source: str = "s1",
        *,
        candidates: Sequence[dict[str, Any]] = (),
    ) -> SegmentWriter:
        segment = self.log.open_segment(campaign, "attempt", {"cell": cell.key})
        segment.append(
            "cell.started",
            {
                "cell": cell.key,
                "identity": cell.plain(),
                "number": number,
                "engine": "local",
                "environment": {"cpu": 2},
            },
        )
        segment.append(
            "cell.described",
            {
                "cell": cell.key,
                "facts": facts(cell),
                "fingerprint": fingerprint(source),
                "rows": 16,
                "tokens": 5376,
                "tree_decisions": 3,
                "tree_segments": 20,
                "candidates": candidates or [candidate(label, 100 + i) for i, label in enumerate(LABELS)],
                "automatic": candidate("full_sharing"),
                "automatic_version": 1,
            },
        )
        return segment

    def complete(self, segment: SegmentWriter, cell: CellIdentity) -> str:
        segment.append(
            "cell.completed",
            {
                "cell": cell.key,
                "usable": dict.fromkeys(LABELS, 4),
                "rank_reports": [{"rank": 0}],
                "wall_s": 1.5,
            },
        )
        segment.seal()
        return segment.segment

    def fail(self, segment: SegmentWriter, cell: CellIdentity, kind: str = "timeout") -> str:
        segment.append(
            "cell.failed",
            {
                "cell": cell.key,
                "kind": kind,
                "message": "too slow",
                "exit_codes": [0, None],
                "log_tail": "the end",
            },
        )
        segment.seal()
        return segment.segment

    def attempt(
        self,
        campaign: str,
        cell: CellIdentity,
        times: dict[str, Sequence[float]],
        *,
        number: int = 1,
        source: str = "s1",
        automatic: Sequence[float] = (),
    ) -> str:
        segment = self.begin(campaign, cell, number, source)
        for label in LABELS:
            segment.append("sample.recorded", sample(cell, label, 0, 99.0, role="warmup"), durable=False)
        for label, values in {**times, "automatic": automatic}.items():
            for round, ms in enumerate(values):
                segment.append("sample.recorded", sample(cell, label, round, ms), durable=False)
        return self.complete(segment, cell)


@pytest.fixture(scope="session")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The views of an empty ledger: a refresh that finds a views file only changes what is over files."""
    store = tmp_path_factory.mktemp("standing")
    Warehouse(store).refresh()
    return store / "warehouse"


def recorder_in(store: Path, standing: Path) -> Recorder:
    (store / "warehouse").mkdir(parents=True)
    for name in ("warehouse.duckdb", "views.json"):
        shutil.copy(standing / name, store / "warehouse" / name)
    return Recorder(store)


@pytest.fixture
def recorder(tmp_path: Path, standing: Path) -> Recorder:
    return recorder_in(tmp_path / "ledger", standing)


@pytest.fixture(scope="module")
def module_recorder(tmp_path_factory: pytest.TempPathFactory, standing: Path) -> Recorder:
    return recorder_in(tmp_path_factory.mktemp("module") / "ledger", standing)


@pytest.fixture
def warehouse(recorder: Recorder) -> Warehouse:
    return Warehouse(recorder.store)


@pytest.fixture
def measured(recorder: Recorder) -> Recorder:
    """A registered campaign whose three cells are measured."""
    recorder.open_campaign(recorder.manifest())
    for cell in recorder.cells:
        recorder.attempt("demo", cell, recorder.times)
    return recorder


@pytest.fixture
def registered_table(measured: Recorder) -> None:
    """A fit of the measured campaign, its certificate, and versions 1 and 2 of the model."""
    one = measured.one("demo", "fit", "fit.completed", fit(manifest()).plain())
    issued = {"digest": "c", "fit": one, "table_digest": "d", "evidence_root": "r", "table_id": "demo-table"}
    measured.one("demo", "certificate", "certificate.issued", issued)
    domain = {
        "device_classes": [fingerprint()["device_class"]],
        "dtypes": ["float32"],
        "geometries": [fingerprint()["geometry"]],
        "shapes": [{"tp": 1}],
    }
    table = {"table_id": "demo-table", "table_digest": "d", "certificate": "c", "domain": domain}
    for version, tables in ((1, []), (2, [table])):
        data = {"model": "layout-cost", "version": version, "bundle_digest": "b", "tables": tables}
        measured.one("demo", "registration", "version.registered", data)
