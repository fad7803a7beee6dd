"""Calibration records made from their description: two candidates and the automatic choice a cell."""

import json
from pathlib import Path
from typing import Any

GEOMETRY = {
    "hidden_size": 2560, "ffn_hidden_size": 9216, "num_attention_heads": 16, "num_query_groups": 4,
    "kv_channels": 256,
}  # fmt: skip
TIMES = {"no_sharing": [30.0, 31.0, 29.0, 30.5], "full_sharing": [20.0, 21.0, 22.0], "automatic": [20.5]}


def cell(name: str = "cal-a", **more: Any) -> dict[str, Any]:
    return {
        "record_type": "calibration_cell", "schema": "s1", "cell": name, "workload": {"kind": "grpo"},
        "logical_tokens": 900, "request_count": 8, "requests_sha256": "d" * 64, "tp": 1, "cp": 2, "dp": 1,
        "ep": 1, "etp": 1, "world_size": 2, "model": "org/model", "layers": 4, "gdn_layers": 3,
        "moe_layers": 0, "uses_gdn": True, "is_moe": False, "hidden_size": 2560, "geometry": GEOMETRY,
        "param_dtype": "torch.bfloat16", "device": "NVIDIA H200", "device_capability": [9, 0],
        "device_total_memory_bytes": 150754820096, "device_memory_class": "hbm-141g",
        "coefficient_version": 1, "source": "c" * 40, "driver": "570.1",
        "candidates": [candidate("no_sharing", 900, 8, 1), candidate("full_sharing", 500, 9, 2),
                       {**candidate("automatic", 500, 9, 2), "matches": ["full_sharing"]}],
        "tree_decisions": 1, "tree_segments": 9, **more,
    }  # fmt: skip


def candidate(label: str, tokens: int, segments: int, depth: int) -> dict[str, Any]:
    features = {
        "packed_tokens": tokens, "segment_count": segments, "max_depth": depth,
        "segments_below": [0, 4] + [segments] * 6,
    }  # fmt: skip
    return {"label": label, "labels": [label], "features": features, "current_score_us": 1.0}


def sample(of: dict[str, Any], label: str, round_: int, ms: float, **more: Any) -> dict[str, Any]:
    repeated = {key: value for key, value in of.items() if not key.startswith(("candidates", "tree_"))}
    return {
        **repeated, "record_type": "calibration_sample", "role": "measured", "candidate_label": label,
        "round": round_, "ms_max_rank": ms, "ms_local": ms, "compile_statuses": ["none", "none"],
        "planning_ms": 0.1, "selected_max_depth": 2, "subforward_count": 1, "peak_allocated_bytes": 1,
        "loss": 2.0, **more,
    }  # fmt: skip


def refusal(of: dict[str, Any], label: str, message: str) -> dict[str, Any]:
    row = sample(of, label, 0, 0.0, admission_failed=True, message=message)
    for name in ("ms_max_rank", "compile_statuses", "subforward_count"):
        del row[name]
    return row


def measured(of: dict[str, Any]) -> list[dict[str, Any]]:
    """A cell's record and its usable samples."""
    times = [(label, number, ms) for label, each in TIMES.items() for number, ms in enumerate(each)]
    return [of, *(sample(of, label, number, ms) for label, number, ms in times)]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
