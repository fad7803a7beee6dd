"""One writer, one segment: append, make durable, seal."""

import contextlib
import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from schemas import Event, InvalidInputError, StoreUnavailableError
from tracker.log._crash import crash_point
from tracker.log._disk import Disk
from tracker.log._encoder import LineEncoder
from tracker.log._names import FRESH_SUFFIX, OPEN_SUFFIX, OPENED, SEALED_SUFFIX

SYNC_EVENTS = 100
SYNC_SECONDS = 1.0
"""How far apart two fsyncs may be while events come that end nothing."""


@dataclass(frozen=True, slots=True)
class SealedSegment:
    """A segment that no one writes to any more.

    `count` lines stand under the Merkle `root`; `head` is the digest of the seal's own line, `time` its time.
    """

    campaign: str
    segment: str
    path: Path
    count: int
    root: str
    head: str
    time: str


class SegmentWriter:
    """The only writer of one segment; several threads may use it. Made by `Log.open_segment`.

    As a context manager it seals when the block ends well, and otherwise leaves the segment to `recover`.
    A writer whose disk failed refuses every further call: nothing may follow a line that might be torn.
    """

    def __init__(
        self,
        folder: Path,
        encoder: LineEncoder,
        opened: Mapping[str, Any],
        *,
        disk: Disk,
        sync_events: int = SYNC_EVENTS,
    ) -> None:
        self.campaign = encoder.subject["campaign"]
        self.segment = encoder.subject["segment"]
        self.unit = str(opened["unit"])
        self.path = folder / f"{self.segment}{OPEN_SUFFIX}"
        self._encoder = encoder
        self._disk = disk
        self._sync_events = sync_events
        self._lock = threading.RLock()
        self._pending = 0
        self._timer: threading.Timer | None = None
        self._state = "open"
        self._handle = self._begin(folder / f"{self.segment}{FRESH_SUFFIX}", opened)

    def _begin(self, fresh: Path, opened: Mapping[str, Any]) -> int:
        """The file appears under its name with its first event durable, or not at all."""
        line, _ = self._encoder.encode(OPENED, opened)
        handle = self._disk.create(fresh)
        try:
            crash_point("open.created")
            self._disk.write(handle, line, fresh)
            self._disk.sync(handle, fresh)
            self._disk.rename(fresh, self.path)
        except StoreUnavailableError:
            os.close(handle)
            raise
        return handle

    @property
    def count(self) -> int:
        """Events written so far."""
        return self._encoder.count

    def append(self, type: str, data: Mapping[str, Any], *, version: int = 1, durable: bool = True) -> Event:
        """Write one event; with `durable` it is on the disk when this returns, else within a second.

        Args:
            type: dotted lower-case name; `segment.*` is the log's own.
            data: a JSON object; integers above 2^53-1 become strings.
            version: schema version of the type.
            durable: false for events that come in numbers and end nothing, such as samples: those are on the
                disk after `SYNC_EVENTS` events, `SYNC_SECONDS` or `flush`, whichever is first.

        Raises:
            InvalidInputError: the event is not valid, or the segment is sealed; nothing was written.
            StoreUnavailableError: the disk refused; what was durable before still is.

        """
        _refuse_own(type)
        with self._lock:
            self._require_open()
            line, event = self._encoder.encode(type, data, version)
            crash_point("append.before")
            self._write(line)
            crash_point("append.after")
            self._note_written(1, durable=durable)
        return event

    def record(self, type: str, data: Mapping[str, Any], *, version: int = 1, durable: bool = True) -> None:
        """`append` for those who need no event in return: cheaper, for samples in a running cell.

        Raises:
            InvalidInputError: the event is not valid, or the segment is sealed; nothing was written.
            StoreUnavailableError: the disk refused; what was durable before still is.

        """
        _refuse_own(type)
        with self._lock:
            self._require_open()
            line = self._encoder.encode_line(type, data, version)
            crash_point("append.before")
            self._write(line)
            crash_point("append.after")
            self._note_written(1, durable=durable)

    def append_many(self, type: str, rows: Iterable[Mapping[str, Any]], *, version: int = 1) -> int:
        """Write one event a row in one go, all or none; how many. They become durable as samples do.

        For numbers of small events: several times as fast as one `append` each.

        Raises:
            InvalidInputError: a row is not valid; nothing was written.
            StoreUnavailableError: the disk refused.

        """
        _refuse_own(type)
        with self._lock:
            self._require_open()
            lines = self._encoder.encode_many(type, rows, version)
            text = b"\n".join([*lines, b""])
            crash_point("append.before")
            self._write(text)
            crash_point("append.after")
            if self._pending + len(lines) >= self._sync_events:
                self._disk.start_sync(self._handle, len(text))
            self._encoder.tree.extend(lines)
            self._note_written(len(lines), durable=False)
        return len(lines)

    def flush(self) -> None:
        """Return when every event so far is on the disk.

        Raises:
            StoreUnavailableError: the disk refused.

        """
        with self._lock:
            self._require_open()
            if self._pending:
                self._sync()

    def seal(self) -> SealedSegment:
        """Write the seal, make it durable, give the file its final name.

        Raises:
            InvalidInputError: it is sealed or closed already.
            StoreUnavailableError: the disk refused; `recover` seals what is there.

        """
        with self._lock:
            self._require_open()
            line, event = self._encoder.seal()
            crash_point("seal.before")
            self._write(line)
            self._sync()
            final = self.path.with_name(f"{self.segment}{SEALED_SUFFIX}")
            try:
                self._disk.rename(self.path, final)
            except StoreUnavailableError:
                self._end("failed")
                raise
            self._end("sealed")
        return SealedSegment(
            self.campaign, self.segment, final, event.seq, event.data["root"], event.digest, event.time
        )

    def close(self) -> None:
        """Let go of the segment without a seal: `recover` will close it as interrupted."""
        with self._lock:
            if self._state != "open":
                return
            if self._pending:
                self._sync()
            self._end("closed")

    def abandon(self) -> None:
        """Let go of the file and write nothing more; `recover` may close it, or whoever else has it open.

        For a forked child, whose parent goes on with the segment: it takes no lock, for the holder may be a
        thread that the child does not have.
        """
        if self._state == "open":
            self._state = "closed"
            with contextlib.suppress(OSError):
                os.close(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._state == "open":
            self.seal()
        else:
            self.close()

    def _require_open(self) -> None:
        if self._state == "failed":
            raise StoreUnavailableError(
                f"{self.path}: an earlier write failed and this writer stopped; "
                "free space or mend the folder, then run `layoutledger recover` and resume"
            )
        if self._state != "open":
            raise InvalidInputError(f"{self.path}: the segment is {self._state}; open a new one")

    def _write(self, line: bytes) -> None:
        try:
            self._disk.write(self._handle, line, self.path)
        except StoreUnavailableError:
            self._end("failed")
            raise

    def _note_written(self, count: int, *, durable: bool) -> None:
        self._pending += count
        if durable or self._pending >= self._sync_events:
            self._sync()
        elif self._timer is None and count:
            self._sync_later()

    def _sync_later(self) -> None:
        timer = threading.Timer(SYNC_SECONDS, self._sync_on_time)
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError:
            # No thread can be had: the promise of a second is kept at once.
            self._sync()
        else:
            self._timer = timer

    def _sync(self) -> None:
        try:
            self._disk.sync(self._handle, self.path)
        except StoreUnavailableError:
            # A second fsync may succeed although the pages of the first are gone: never try again.
            self._end("failed")
            raise
        self._pending = 0

    def _sync_on_time(self) -> None:
        with self._lock:
            self._timer = None
            if self._state == "open" and self._pending:
                # The writer has stopped by then; its next call says so.
                with contextlib.suppress(StoreUnavailableError):
                    self._sync()

    def _end(self, state: str) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._state == "open":
            os.close(self._handle)
        self._state = state


def _refuse_own(type: str) -> None:
    if type.startswith("segment."):
        raise InvalidInputError(f"event type {type!r}: names beginning with 'segment.' are the log's own")
