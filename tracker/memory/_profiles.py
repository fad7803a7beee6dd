"""Memory in the ledger: observations and decisions are recorded, profiles are rebuilt from them."""

import json
from collections.abc import Iterable
from dataclasses import asdict

from planner.memory import CURRENT_FORMULA, AllocatorTrace, MemoryProfile, Signature
from schemas import LearnedProfile, MemoryModel, MemorySignature, MemoryTrace, NotFoundError, Record
from tracker._ledger import Ledger

MEMORY_TYPES = ("memory.observed", "memory.trace", "admission.refused", "admission.split")

_NUMBERS = (
    "rate",
    "retained_rate",
    "sharing",
    "largest_tokens",
    "largest_packed",
    "largest_logical",
    "observations",
)


def record_memory(ledger: Ledger, campaign: str, events: Iterable[tuple[str, Record]]) -> str:
    """Record what a run saw of memory as one unit of work; its segment id.

    Args:
        ledger: where it goes.
        campaign: whose log records it.
        events: event types out of `MEMORY_TYPES` with their records, in the order in which they arose.

    Raises:
        ValueError: another type of event.
        InvalidInputError: no such name of a campaign.
    """
    with ledger.log.open_segment(campaign, "memory_observation") as segment:
        for type_, record in events:
            if type_ not in MEMORY_TYPES:
                raise ValueError(f"{type_!r} is no memory event; there are: {', '.join(MEMORY_TYPES)}")
            segment.append(type_, record.plain())
        return segment.segment


def memory_profiles(ledger: Ledger) -> dict[Signature, MemoryProfile]:
    """The profile of every signature that the log has observations of, in order of signature."""
    rows = ledger.warehouse.query("SELECT * FROM memory_profiles").records()
    return {
        Signature(row["model"], row["topology"], row["grad"], row["outputs"]): MemoryProfile(
            **{name: row[name] for name in _NUMBERS}
        )
        for row in rows
    }


def memory_profile(ledger: Ledger, signature: Signature) -> MemoryProfile:
    """The profile of one signature.

    Raises:
        NotFoundError: nothing was observed under it; names the signatures that there are.
    """
    profiles = memory_profiles(ledger)
    if signature not in profiles:
        there = "\n  ".join(map(str, profiles)) or "(none)"
        raise NotFoundError(f"{ledger.store}: no memory observed under {signature}; there is:\n  {there}")
    return profiles[signature]


def memory_model(ledger: Ledger, *, formula: int = CURRENT_FORMULA) -> MemoryModel:
    """What a coefficient version is to know of memory: every profile of the log, and its evidence.

    Args:
        ledger: where the observations are.
        formula: the estimate that the version is to use; another one is another digest, to be reviewed.

    Raises:
        NotFoundError: nothing was observed.
    """
    profiles = memory_profiles(ledger)
    if not profiles:
        raise NotFoundError(f"{ledger.store}: no memory was observed; record observations first")
    rows = ledger.warehouse.query("SELECT DISTINCT segment FROM memory_observations").rows()
    evidence = ledger.evidence([segment for (segment,) in rows])
    return MemoryModel(
        formula=formula,
        profiles=tuple(
            LearnedProfile(signature=MemorySignature(**asdict(signature)), **asdict(profile))
            for signature, profile in profiles.items()
        ),
        evidence_root=evidence.root,
        segments=evidence.segments,
    )


def memory_trace(ledger: Ledger, digest: str) -> AllocatorTrace:
    """The allocator trace of that digest, as it was recorded; replaying it checks the digest.

    Raises:
        NotFoundError: the log has no such trace.
        CorruptionError: parts of it are missing.
    """
    # On use: it loads torch, which pricing by what was learned does not need.
    from harness.memory import trace_of_records

    rows = ledger.warehouse.query("SELECT data FROM events WHERE type = 'memory.trace'").rows()
    parts = [MemoryTrace.parse(json.loads(data), where=f"trace {digest}") for (data,) in rows]
    found = {part.part: part for part in parts if part.trace == digest}
    if not found:
        known = ", ".join(sorted({part.trace[:12] for part in parts})) or "none"
        raise NotFoundError(f"{ledger.store}: no trace {digest}; there is: {known}")
    return trace_of_records(list(found.values()))
