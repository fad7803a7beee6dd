"""The trainer's side: a bounded queue that a thread of its own empties into the log."""

import atexit
import math
import os
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Any, Self

from tracker.observe._segments import SelectionSegments

if TYPE_CHECKING:
    from planner import Layout, Plan

CAPACITY = 1024
FLUSH_S = 1.0
EXIT_S = 5.0

Told = tuple[int, "Plan", float, "Layout | None", "str | None"]
"""Nanoseconds since 1970, the plan, milliseconds, the layout that ran if another, the cell."""

_observers: "weakref.WeakSet[SelectionObserver]" = weakref.WeakSet()


@dataclass(frozen=True, slots=True)
class ObserverCounts:
    """What became of the observations so far.

    Args:
        recorded: durable in the log.
        dropped: told while the queue was full.
        unwritten: in batches that the disk refused; some of their lines may be in the log all the same.
        refused: that were no observation, such as a time that is no number.
        waiting: in the queue.
    """

    recorded: int
    dropped: int
    unwritten: int
    refused: int
    waiting: int


class SelectionObserver:
    """Records which layouts ran and how long they took, at a few microseconds a step.

    `observe` puts its arguments into a queue and returns: it does no file access, takes no lock while there
    is room, and raises nothing. A thread writes what is in the queue once every `flush_s` seconds, one fsync
    each time. When the queue is full, as with a slow or full disk, what is told is dropped and counted; the
    counts stand in the segment's closing event. A disk that refused is tried again, at growing intervals.

    A forked child has its own queue and its own segment; what waited in the parent stays with the parent.
    At the interpreter's exit the queue is written, for at most five seconds. After a SIGKILL, or `os._exit`,
    what was told in the last `flush_s` seconds is lost; `layoutledger recover` closes the segment.

    Args:
        store: the ledger's folder.
        run: under which name in the log; trainers may share one.
        model: name of the registered model that plans come from.
        capacity: observations that may wait; more than come between two writes.
        flush_s: seconds between two writes.
        segments: where to; made from the store by default.

    Raises:
        InvalidInputError: a run name that is none.
        ValueError: a capacity below 1.
    """

    def __init__(
        self,
        store: Path | str,
        *,
        run: str = "production",
        model: str = "layout-cost",
        capacity: int = CAPACITY,
        flush_s: float = FLUSH_S,
        segments: SelectionSegments | None = None,
    ) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be 1 or more, got {capacity}")
        self._segments = segments or SelectionSegments(Path(store), run)
        self._model = model
        self._capacity = capacity
        self._flush_s = flush_s
        self._begin()
        _observers.add(self)

    def observe(
        self, plan: "Plan", ms: float, *, ran: "Layout | None" = None, cell: str | None = None
    ) -> None:
        """Tell that a planned batch ran.

        Args:
            plan: as the planner returned it.
            ms: forward and backward, milliseconds.
            ran: the layout that ran, where it was on purpose not the selected one: sampling alternatives now
                and then is what shows that a table has come to choose wrong.
            cell: key of the calibration cell that the batch is, if it is one.
        """
        queue = self._queue
        if len(queue) >= self._capacity or self._closed:
            with self._dropping:
                self._dropped += 1
            return
        queue.append((time_ns(), plan, ms, ran, cell))
        if self._thread is None:
            self._start()

    @property
    def counts(self) -> ObserverCounts:
        """What became of everything told in this process."""
        done = self._segments.totals
        return ObserverCounts(
            recorded=done.recorded,
            dropped=self._dropped,
            unwritten=done.unwritten,
            refused=done.refused,
            waiting=len(self._queue),
        )

    @property
    def trouble(self) -> str | None:
        """Why the log cannot be written at the moment, None where it can."""
        return self._segments.trouble

    def close(self, timeout_s: float = EXIT_S) -> None:
        """Write what waits, end the segment, stop the thread; again is no change.

        Args:
            timeout_s: how long to wait; a disk that hangs keeps no one longer.
        """
        if self._closed:
            return
        self._closed = True
        self._ending.set()
        if self._thread is not None:
            self._thread.join(timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self) -> None:
        self._queue: deque[Told] = deque()
        self._dropped = 0
        self._dropping = threading.Lock()
        self._ending = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def _start(self) -> None:
        with self._starting:
            if self._thread is not None:
                return
            thread = threading.Thread(target=self._run, name="selection-observer", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                # No thread can be had: the queue fills, and what is told after that is counted as dropped.
                return
            self._thread = thread

    def _run(self) -> None:
        while not self._ending.wait(self._flush_s):
            if self._segments.ready():
                self._drain()
        self._drain()
        self._segments.end(self._dropped)

    def _drain(self) -> None:
        told = [self._queue.popleft() for _ in range(len(self._queue))]
        rows = [row for row in (_row(each, self._model) for each in told) if row is not None]
        self._segments.write(rows, refused=len(told) - len(rows), dropped=self._dropped)

    def _forked(self) -> None:
        """In a forked child: nothing of the parent's is touched but the copy of its file descriptor."""
        closed = self._closed
        self._segments = self._segments.after_fork()
        self._begin()
        self._closed = closed


def _row(told: Told, model: str) -> dict[str, Any] | None:
    from tracker.observe._rows import selection_row

    try:
        row = selection_row(*told, model=model)
    except Exception:
        # Whatever a trainer passes by mistake is counted, and must not end the thread.
        return None
    return row if math.isfinite(row["ms"]) and row["ms"] >= 0 else None


def _each_observer() -> Sequence[SelectionObserver]:
    return tuple(_observers)


def _forked() -> None:
    for observer in _each_observer():
        observer._forked()  # pyright: ignore[reportPrivateUsage]


def _closing() -> None:
    for observer in _each_observer():
        observer.close()


os.register_at_fork(after_in_child=_forked)
atexit.register(_closing)
