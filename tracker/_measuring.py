"""Measure what a campaign is missing and record it: the runner's side of the log."""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from harness import AutomaticChoice, CampaignSummary, CellProgress, Engine, run_campaign
from schemas import CellPlan, redact_plain, require_module
from tracker._campaigns import require_cells
from tracker._ledger import Ledger
from tracker.log import SegmentWriter

_FREE_TEXT = frozenset({"cell.started", "cell.failed"})


def measure_campaign(
    ledger: Ledger,
    campaign: str,
    *,
    cells: Collection[str] = (),
    automatic: AutomaticChoice | None = None,
    engine: Engine | None = None,
    progress: Callable[[CellProgress], None] | None = None,
) -> CampaignSummary:
    """Measure the cells that have neither a completed attempt nor an exclusion.

    Args:
        ledger: where to.
        campaign: its name.
        cells: keys of the only cells that this is about, as one of several runners; all where empty.
        automatic: the coefficients of the planner's own choice.
        engine: where the cells run; this machine if None.
        progress: told of each cell and sample.

    Raises:
        NotFoundError: no such campaign, or the manifest has no such cell.
        StoreUnavailableError: the ledger cannot be written; resume when it can.
        MissingExtraError: PyTorch, which the workers run, is not installed.
    """
    require_module("torch")
    warehouse = ledger.warehouse
    manifest = warehouse.manifest(campaign)
    done = set(warehouse.completed_cells(campaign))
    done |= {exclusion.cell for exclusion in warehouse.exclusions(campaign)}
    require_cells(manifest, cells)
    others = {key for key in manifest.keys if key not in cells} if cells else set[str]()
    recorder = LogRecorder(ledger, campaign, Counter(warehouse.attempt_numbers(campaign)))
    summary = run_campaign(
        manifest,
        recorder,
        skip_completed=done | others,
        progress=progress,
        automatic=automatic,
        engine=engine,
    )
    return replace(summary, skipped=tuple(key for key in summary.skipped if key not in others))


@dataclass(slots=True)
class LogRecorder:
    """The harness's recorder on this ledger's log: an attempt is a segment.

    Args:
        ledger: where to.
        campaign: whose attempts.
        attempts: how many each cell has already.
    """

    ledger: Ledger
    campaign: str
    attempts: Counter[str]

    def attempts_of(self, cell: str) -> int:
        """Attempts of the cell so far, of any outcome."""
        return self.attempts[cell]

    def open_attempt(self, plan: CellPlan, number: int) -> "LogAttempt":
        """A new segment for the cell."""
        cell = plan.identity.key
        self.attempts[cell] = number
        subject = {"cell": cell, "attempt": str(number)}
        return LogAttempt(self.ledger.log.open_segment(self.campaign, "attempt", subject))


@dataclass(frozen=True, slots=True)
class LogAttempt:
    """An attempt's open segment."""

    segment: SegmentWriter

    def append(self, type: str, data: dict[str, Any], *, durable: bool) -> None:
        """Add an event to the segment; what a dying process wrote may show credentials, which stay out."""
        told = redact_plain(data) if type in _FREE_TEXT else data
        self.segment.record(type, told, durable=durable)

    def seal(self) -> None:
        """Close the segment for good."""
        self.segment.seal()
