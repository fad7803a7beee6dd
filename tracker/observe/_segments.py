"""Where observations go: one segment after another, each closed with what became of what was told."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracker.log import Log, SegmentWriter

ROLL_S = 600.0
ROLL_EVENTS = 10_000
"""A segment is sealed after so long or so many, for only sealed ones are read."""
FIRST_RETRY_S, LAST_RETRY_S = 1.0, 60.0

_logger = logging.getLogger("layoutledger.observe")


@dataclass(frozen=True, slots=True)
class Totals:
    """How many observations were recorded, refused by the disk, were none, and were dropped before."""

    recorded: int = 0
    unwritten: int = 0
    refused: int = 0
    dropped: int = 0


class SelectionSegments:
    """Writes observations in batches; a disk that refuses is counted and tried again, never raised.

    Args:
        store: the ledger's folder.
        run: the name in the log.
        log: another log than the store's, for tests.
        roll_s: seconds after which a segment is sealed.
        roll_events: lines after which it is.

    Raises:
        InvalidInputError: a run name that is none.
    """

    def __init__(
        self,
        store: Path,
        run: str,
        *,
        log: "Log | None" = None,
        roll_s: float = ROLL_S,
        roll_events: int = ROLL_EVENTS,
    ) -> None:
        # Imported here and not in the thread: an import there would hold up the trainer's first steps.
        from tracker.log import Log, check_campaign

        check_campaign(run)
        self._store, self._run = store, run
        # One fsync a batch, and none on a timer: the batch is the interval.
        self._log = log or Log(store, sync_events=1)
        self._roll_s, self._roll_events = roll_s, roll_events
        self._writer: SegmentWriter | None = None
        self._opened = 0.0
        self._retry_s, self._retry_at = FIRST_RETRY_S, 0.0
        self.totals = Totals()
        self._told = Totals()
        self.trouble: str | None = None

    def ready(self) -> bool:
        """Whether the disk may be tried: not while a refusal is recent."""
        return monotonic() >= self._retry_at

    def write(self, rows: Sequence[dict[str, Any]], *, refused: int, dropped: int) -> None:
        """Make a batch durable, and seal the segment when it is old or long enough.

        Args:
            rows: payloads.
            refused: observations of the batch that were none.
            dropped: all that were dropped so far.
        """
        self._count(refused=refused, dropped=dropped)
        if rows:
            try:
                writer = self._open()
                writer.append_many("selection.observed", rows)
            except Exception as error:
                self._fail(error, len(rows))
                return
            self.trouble, self._retry_s = None, FIRST_RETRY_S
            self._count(recorded=len(rows))
        if self._writer is not None and self._is_due(self._writer):
            self.end(dropped)

    def end(self, dropped: int) -> None:
        """Seal the segment, its closing event last; without one, only losses are worth a segment."""
        self._count(dropped=dropped)
        fresh = self._fresh()
        if self._writer is None and not any(fresh[name] for name in ("dropped", "unwritten", "refused")):
            return
        try:
            writer = self._open()
            writer.append("selection.closed", fresh)
            self._told = self.totals
            writer.seal()
        except Exception as error:
            self._fail(error, 0)
        self._writer = None

    def after_fork(self) -> "SelectionSegments":
        """What a forked child writes with: the same place, nothing told, no segment."""
        if self._writer is not None:
            self._writer.abandon()
        return SelectionSegments(self._store, self._run, roll_s=self._roll_s, roll_events=self._roll_events)

    def _open(self) -> "SegmentWriter":
        if self._writer is None:
            self._writer = self._log.open_segment(self._run, "selection")
            self._opened = monotonic()
        return self._writer

    def _is_due(self, writer: "SegmentWriter") -> bool:
        return writer.count >= self._roll_events or monotonic() - self._opened >= self._roll_s

    def _fail(self, error: Exception, lost: int) -> None:
        """A later segment's closing event tells of the loss."""
        if self.trouble is None:
            _logger.warning("observations are not recorded: %s", error)
        self.trouble = str(error)
        if self._writer is not None:
            # Its state is not known: nothing more may follow in it, and recovery has to find it free.
            self._writer.abandon()
            self._writer = None
        self._retry_at = monotonic() + self._retry_s
        self._retry_s = min(2 * self._retry_s, LAST_RETRY_S)
        # Last, as on success: whoever sees the count sees the trouble that goes with it.
        self._count(unwritten=lost)

    def _count(
        self, *, recorded: int = 0, unwritten: int = 0, refused: int = 0, dropped: int | None = None
    ) -> None:
        old = self.totals
        self.totals = Totals(
            recorded=old.recorded + recorded,
            unwritten=old.unwritten + unwritten,
            refused=old.refused + refused,
            dropped=old.dropped if dropped is None else dropped,
        )

    def _fresh(self) -> dict[str, int]:
        """What happened since the last closing event."""
        now, told = self.totals, self._told
        counts = {
            "recorded": now.recorded - told.recorded,
            "dropped": now.dropped - told.dropped,
            "unwritten": now.unwritten - told.unwritten,
            "refused": now.refused - told.refused,
        }
        return {**counts, "observed": sum(counts.values())}
