"""A campaign recorded through the real log, with times from a known table: its truth is known."""

from collections.abc import Mapping

from harness import cell_rows, parse_campaign, rows_digest
from planner import ScoringFacts, build_prefix_tree, layout_features, mandatory_candidates, score_layout
from schemas import CellPlan, Fingerprint, Geometry, Manifest
from tracker._campaigns import open_campaign
from tracker._ledger import Ledger

TRUTH = {"token_per_rank": 40_000, "tiny_segment_per_layer": 300_000, "gdn_level": 900_000}
FOUR_ROUNDS = (1.0, 1.01, 0.99, 1.005)

TOML = """
campaign = "known"
title = "times from a known table"
table_id = "known-table"
[protocol]
rounds = 4
required = 4
[holdout]
contains = ["held-"]
[fit]
terms = ["token_per_rank", "tiny_segment_per_layer", "gdn_level"]
[models.hybrid-tiny]
preset = "hybrid-tiny"
[workloads.grpo-a]
kind = "grpo"
parameters = { prompts = 2, completions = 4, system = 64, prompt = 32, completion = 16 }
[workloads.chain-a]
kind = "caterpillar"
parameters = { depth = 5, root = 32, step = 16, tail = 8 }
[workloads.held-grpo]
kind = "grpo"
parameters = { prompts = 3, completions = 3, system = 48, prompt = 40, completion = 24 }
[[cells]]
workloads = ["grpo-a", "chain-a", "held-grpo"]
models = ["hybrid-tiny"]
shapes = ["tp1cp1"]
"""


def known_manifest(text: str = TOML) -> Manifest:
    return parse_campaign(text, "known.toml")


def known_ledger(store, manifest: Manifest | None = None, truth: Mapping[str, int] = TRUTH) -> Ledger:
    """A ledger whose campaign is measured in full."""
    ledger = Ledger(store)
    plan = manifest or known_manifest()
    open_campaign(ledger, plan)
    for cell in plan.cells:
        record_cell(ledger, plan.campaign, cell, truth)
    return ledger


def record_cell(
    ledger: Ledger,
    campaign: str,
    plan: CellPlan,
    truth: Mapping[str, int] = TRUTH,
    *,
    number: int = 1,
    source: str = "s" * 64,
    rounds: tuple[float, ...] = FOUR_ROUNDS,
) -> str:
    """One completed attempt; its segment id."""
    described, times = describe(plan, truth, source)
    cell = plan.identity.key
    with ledger.log.open_segment(campaign, "attempt", {"cell": cell, "attempt": str(number)}) as segment:
        started = {
            "cell": cell,
            "identity": plan.identity.plain(),
            "number": number,
            "engine": "local",
            "environment": {},
        }
        segment.append("cell.started", started)
        segment.append("cell.described", described)
        for round_, factor in enumerate(rounds):
            for position, (label, ms) in enumerate(times.items()):
                segment.append(
                    "sample.recorded", sample(cell, label, round_, position, ms * factor), durable=False
                )
        usable = dict.fromkeys(times, len(rounds))
        completed = {"cell": cell, "usable": usable, "rank_reports": [{"rank": 0}], "wall_s": 1.0}
        segment.append("cell.completed", completed)
    return segment.segment


def describe(plan: CellPlan, truth: Mapping[str, int], source: str):
    tree = build_prefix_tree(cell_rows(plan))
    rows = cell_rows(plan)
    shape = plan.identity.shape
    facts = ScoringFacts(
        cp_size=shape.cp, tp_size=shape.tp, layers=plan.identity.layers, gdn_layers=3, uses_gdn=True
    )
    candidates, times = [], {}
    for candidate in mandatory_candidates(tree):
        features = layout_features(candidate.layout)
        candidates.append(
            {
                "label": candidate.labels[0],
                "labels": list(candidate.labels),
                "decisions": list(candidate.decisions),
                "features": {
                    "packed_tokens": features.packed_tokens,
                    "segment_count": features.segment_count,
                    "max_depth": features.max_depth,
                    "segments_below": list(features.segments_below),
                },
            }
        )
        times[candidate.labels[0]] = 5.0 + score_layout(candidate.layout, facts, truth)[0] / 1024 / 1e6
    described = {
        "cell": plan.identity.key,
        "facts": {
            "tp": shape.tp,
            "cp": shape.cp,
            "layers": plan.identity.layers,
            "gdn_layers": 3,
            "uses_gdn": True,
        },
        "fingerprint": fingerprint(source, rows_digest(rows)).plain(),
        "rows": len(rows),
        "tokens": sum(len(row) for row in rows),
        "tree_decisions": len(tree.decisions),
        "tree_segments": len(tree.segments),
        "candidates": candidates,
        "automatic": {**candidates[0], "label": "automatic"},
        "automatic_version": 1,
    }
    return described, times


def fingerprint(source: str, workload: str) -> Fingerprint:
    return Fingerprint(
        source=source,
        workload=workload,
        device="test device",
        device_class={"capability": "cpu:test", "memory": "below-70g"},
        dtype="float32",
        geometry=Geometry(
            hidden_size=128, ffn_hidden_size=256, num_attention_heads=4, num_query_groups=2, kv_channels=32
        ),
    )


def sample(cell: str, label: str, round_: int, position: int, ms: float):
    return {
        "cell": cell,
        "candidate": label,
        "role": "measured",
        "round": round_,
        "position": position,
        "ms": ms,
        "ms_ranks": [ms],
        "compile_events": 0,
        "run_delay_pct": [0.1],
        "loss": 2.5,
        "usable": True,
        "reason": None,
    }
