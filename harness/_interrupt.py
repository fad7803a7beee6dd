"""Ctrl-C and SIGTERM as something to look at, so that no write to the ledger is cut in the middle."""

import contextlib
import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """While open, the first SIGINT or SIGTERM sets `received` and makes `fileno()` readable.

    A second one has its usual effect. In another thread than the main one it does nothing, since Python lets
    only that one set handlers.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._read, self._write = -1, -1
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        self._read, self._write = os.pipe()
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()
        for descriptor in (self._read, self._write):
            os.close(descriptor)

    def fileno(self) -> int:
        """A descriptor that becomes readable, and stays so, with the first signal."""
        return self._read

    def _note(self, number: int, _: FrameType | None) -> None:
        self.received = signal.Signals(number)
        self._restore()
        with contextlib.suppress(OSError):
            os.write(self._write, b"\0")

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
