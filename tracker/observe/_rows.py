"""An observation as the payload of its event; runs in the observer's thread."""

from dataclasses import asdict
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner import Layout, Plan

NAMED_DECISIONS = 32
"""Trees with more decisions have their layouts named without the mandatory candidates: making those would
take milliseconds of the trainer's interpreter."""


def selection_row(
    at_ns: int, plan: "Plan", ms: float, ran: "Layout | None", cell: str | None, *, model: str
) -> dict[str, Any]:
    """The payload of `selection.observed`, as plain JSON values."""
    layout = plan.layout if ran is None or ran.mask == plan.layout.mask else ran
    features, scoring = layout.features, plan.scoring
    facts = asdict(scoring.facts)
    row = {
        "candidate": layout_label(layout),
        "ms": float(ms),
        "at": _rfc3339(at_ns),
        "model": model,
        "version": scoring.version,
        "version_digest": scoring.version_digest,
        "table_id": scoring.table_id,
        "facts": {
            "tp": facts["tp_size"],
            "cp": facts["cp_size"],
            "ep": facts["ep_size"],
            "etp": facts["etp_size"],
            "layers": facts["layers"],
            "gdn_layers": facts["gdn_layers"],
            "uses_gdn": facts["uses_gdn"],
        },
        "decisions": list(layout.decisions),
        "packed_tokens": features.packed_tokens,
        "segment_count": features.segment_count,
        "max_depth": features.max_depth,
        "predicted_us": plan.predicted_us_of(layout),
        "batch": sha256(plan.tree.identity).hexdigest(),
        "selected": None if layout is plan.layout else layout_label(plan.layout),
    }
    return row if cell is None else {**row, "cell": str(cell)}


def layout_label(layout: "Layout") -> str:
    """Its first policy label, or for a large tree's or an unnamed layout how many segments it shares."""
    from planner import mandatory_candidates

    if not layout.decisions:
        return "no_sharing"
    decisions = len(layout.tree.decisions)
    if len(layout.decisions) == decisions:
        return "full_sharing"
    if decisions <= NAMED_DECISIONS:
        for candidate in mandatory_candidates(layout.tree):
            if candidate.layout.mask == layout.mask:
                return candidate.labels[0]
    return f"shared_{len(layout.decisions)}_of_{decisions}"


def _rfc3339(nanoseconds: int) -> str:
    second, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}.{rest // 1000:06d}Z"
