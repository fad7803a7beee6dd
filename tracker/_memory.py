"""Memory in the ledger: observations and decisions are recorded, profiles are rebuilt from them."""

from collections.abc import Iterable

from planner.memory import MemoryProfile, Signature
from schemas import NotFoundError, Record
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
