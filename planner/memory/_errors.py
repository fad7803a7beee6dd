"""What goes wrong around a memory budget, each as one error that says what, where and what to do."""

from collections.abc import Sequence

from schemas import CorruptionError, LayoutLedgerError


class MemoryBudgetError(LayoutLedgerError, MemoryError):
    """No way of running a batch fits the usable memory; nothing of it has run.

    Args:
        predicted_peak_bytes: the least predicted peak of all ways that were priced.
        usable_limit_bytes: what the forward may add to the memory in use.
        suggestion: what to do about it.
    """

    exit_code = 11

    def __init__(self, predicted_peak_bytes: int, usable_limit_bytes: int, suggestion: str) -> None:
        super().__init__(predicted_peak_bytes, usable_limit_bytes, suggestion)
        self.predicted_peak_bytes = predicted_peak_bytes
        self.usable_limit_bytes = usable_limit_bytes
        self.suggestion = suggestion

    def __str__(self) -> str:
        return (
            f"the forward would reach {self.predicted_peak_bytes:,} bytes and {self.usable_limit_bytes:,} "
            f"are usable, {self.predicted_peak_bytes - self.usable_limit_bytes:,} too few; nothing ran. "
            f"{self.suggestion}"
        )


class PartialExecutionError(LayoutLedgerError, RuntimeError):
    """A split forward stopped on the way; its cause is the error's `__cause__`, if something raised.

    Args:
        ran: indices of the subforwards that ran to their end.
        failed: index of the one that did not.
        rows: the caller's numbers of that one's rows.
        total: subforwards of the plan.
        reason: what happened.
    """

    exit_code = 12

    def __init__(self, ran: Sequence[int], failed: int, rows: Sequence[int], total: int, reason: str) -> None:
        super().__init__(tuple(ran), failed, tuple(rows), total, reason)
        self.ran = tuple(ran)
        self.failed = failed
        self.rows = tuple(rows)
        self.total = total
        self.reason = reason

    def __str__(self) -> str:
        done = ", ".join(map(str, self.ran)) or "none"
        return (
            f"subforward {self.failed} of {self.total} (rows {list(self.rows)}) did not run to its end: "
            f"{self.reason}. Subforwards that ran: {done}; drop their outputs and run the batch "
            "again under a smaller limit"
        )


class TraceError(CorruptionError):
    """An allocator trace that contradicts itself or its digest; it proves nothing."""
