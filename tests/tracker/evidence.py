"""Evidence for tests of the projections: written by the real log, as the runner would."""

from pathlib import Path
from typing import Any

from schemas import (
    CampaignOpened,
    Candidate,
    CellCompleted,
    CellDescribed,
    CellFacts,
    CellFailed,
    CellIdentity,
    CellPlan,
    CellStarted,
    DeviceClass,
    Features,
    Fingerprint,
    FitArguments,
    Geometry,
    Manifest,
    ModelSpec,
    ParallelShape,
    SampleRecorded,
    WorkloadSpec,
)
from tracker.log import Log, SealedSegment

FEATURES = Features(packed_tokens=100, segment_count=3, max_depth=2, segments_below=(1, 1, 2, 3, 3, 3, 3, 3))
GEOMETRY = Geometry(
    hidden_size=64, ffn_hidden_size=128, num_attention_heads=4, num_query_groups=2, kv_channels=16
)
DEVICE = DeviceClass(capability="cpu:test", memory="below-70g")


def identity(workload: str = "grpo-2x8") -> CellIdentity:
    return CellIdentity(workload=workload, family="grpo", model="hybrid", layers=4, shape=ParallelShape())


def manifest(campaign: str = "first", cells: int = 2, **more: Any) -> Manifest:
    plans = tuple(
        CellPlan(
            identity=identity(f"grpo-{number}"),
            workload=WorkloadSpec(kind="grpo"),
            model=ModelSpec(preset="hybrid"),
        )
        for number in range(cells)
    )
    return Manifest(
        campaign=campaign, table_id="t1", cells=plans, fit=FitArguments(terms=("gdn_level",)), **more
    )


def open_campaign(log: Log, plan: Manifest) -> SealedSegment:
    with log.open_segment(plan.campaign, "campaign") as segment:
        segment.append("campaign.opened", CampaignOpened(manifest=plan, manifest_digest=plan.digest).plain())
        return segment.seal()


def begin_attempt(segment: Any, cell: CellIdentity, number: int = 1) -> None:
    environment = {"torch": "2", "note": "x" * 9000}
    started = CellStarted(
        cell=cell.key, identity=cell, number=number, engine="local", environment=environment
    )
    segment.append("cell.started", started.plain())
    candidates = [
        Candidate(label=label, labels=(label,), decisions=(), features=FEATURES)
        for label in ("full_sharing", "no_sharing")
    ]
    described = CellDescribed(
        cell=cell.key,
        facts=CellFacts(tp=1, cp=1, layers=4, gdn_layers=3, uses_gdn=True),
        fingerprint=Fingerprint(
            source="s", workload="w", device="cpu", device_class=DEVICE, dtype="float32", geometry=GEOMETRY
        ),
        rows=16,
        tokens=1000,
        tree_decisions=3,
        tree_segments=5,
        candidates=tuple(candidates),
        automatic=candidates[0],
        automatic_version=1,
    )
    segment.append("cell.described", described.plain())


def record_samples(segment: Any, cell: CellIdentity, rounds: int = 3) -> None:
    for number in range(rounds):
        for position, (label, base) in enumerate((("full_sharing", 10.0), ("no_sharing", 12.0))):
            sample = SampleRecorded(
                cell=cell.key,
                candidate=label,
                role="measured",
                round=number,
                position=position,
                ms=base + number,
                ms_ranks=(base + number,),
                compile_events=0,
                run_delay_pct=(0.0,),
                loss=1.0,
                usable=True,
            )
            segment.append("sample.recorded", sample.plain(), durable=False)


def completed_attempt(
    log: Log, campaign: str = "first", workload: str = "grpo-0", rounds: int = 3
) -> SealedSegment:
    cell = identity(workload)
    with log.open_segment(campaign, "attempt", {"cell": cell.key, "attempt": "1"}) as segment:
        begin_attempt(segment, cell)
        record_samples(segment, cell, rounds)
        done = CellCompleted(cell=cell.key, usable={"full_sharing": rounds}, rank_reports=({},), wall_s=1.0)
        segment.append("cell.completed", done.plain())
        return segment.seal()


def failed_attempt(log: Log, campaign: str = "first", workload: str = "grpo-1", **more: Any) -> SealedSegment:
    cell = identity(workload)
    with log.open_segment(campaign, "attempt", {"cell": cell.key, "attempt": "2"}) as segment:
        begin_attempt(segment, cell, 2)
        record_samples(segment, cell, 1)
        fields = {"kind": "killed", "message": "rank 1 <b>died</b>", "log_tail": "line\n" * 2000, **more}
        segment.append("cell.failed", CellFailed(cell=cell.key, **fields).plain())
        return segment.seal()


def small_ledger(root: Path) -> Log:
    """A campaign with a completed and a failed attempt."""
    log = Log(root)
    open_campaign(log, manifest())
    completed_attempt(log)
    failed_attempt(log)
    return log
