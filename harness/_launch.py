"""Ranks as subprocesses of ours: one process group, real exit codes, a deadline for each cell, no orphans."""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from harness._failure import RankFailure, Verdict
from harness._job import COMMANDS_FD, EVENTS_FD, PARENT_PID, Job, last_collective_file, log_file
from harness._lastcall import read_last_collective

OnRecord = Callable[[str, dict[str, Any]], None]
Said = tuple[str, dict[str, Any]]
"""A ledger event that the ranks sent: its type and data."""

# -P: a folder named `schemas` where the user stands must not stand in for ours.
WORKER = (sys.executable, "-P", "-m", "harness._worker")
START_LIMIT_S = 180.0
PEER_GRACE_S = 5.0
_LOG_TAIL_BYTES = 4_000
_STACKS_S = 0.3
_REAP_S = 10.0


@dataclass(slots=True)
class CellOutcome:
    """How a cell ended on every rank; an exit code is None where we ended the process ourselves.

    With `reason` an engine says why the cell failed outside its ranks, as when their node is gone.
    """

    exit_codes: list[int | None]
    started: bool = False
    timed_out: bool = False
    interrupted: bool = False
    reports: dict[int, dict[str, Any]] = field(default_factory=dict)
    failures: dict[int, RankFailure] = field(default_factory=dict)
    last_collectives: tuple[str, ...] = ()
    log_tail: str = ""
    reason: Verdict | None = None


@dataclass(slots=True)
class _Rank:
    """A rank's process, the ends of its pipes that we hold, and what it has said of the cell under way."""

    process: subprocess.Popen[bytes]
    events: int
    commands: int
    log: Path
    buffer: bytes = b""
    ready: bool = False
    closed: bool = False
    code: int | None = None
    log_start: int = 0


class Launch:
    """The ranks of one job; cells are asked for one after another with `run`.

    After a cell that broke the ranks `alive` is false: close this launch and make another for the rest.

    Args:
        job: written into its folder, which must exist.
        wake: a file descriptor that becomes readable when the runner is to stop, or None.
        start_limit_s: how long the ranks may take to load what they need.
        command: what starts a rank; the job's file follows as last argument. A wrapper has to `exec` it.

    """

    def __init__(
        self,
        job: Job,
        *,
        wake: int | None = None,
        start_limit_s: float = START_LIMIT_S,
        command: Sequence[str] = WORKER,
    ) -> None:
        self._job = job
        self._command_line = tuple(command)
        self._folder = Path(job.folder)
        self._start_limit_s = start_limit_s
        self._selector = selectors.DefaultSelector()
        if wake is not None:
            self._selector.register(wake, selectors.EVENT_READ, None)
        self._woken = False
        self._ranks: list[_Rank] = []
        self._outcome = CellOutcome([])

    def __enter__(self) -> Self:
        path = self._folder / "job.json"
        path.write_text(json.dumps(self._job.plain()), "utf-8")
        try:
            for rank in range(self._job.world_size):
                self._ranks.append(self._start(rank, path))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether every rank can take another cell."""
        return not any(rank.closed for rank in self._ranks) and not self._woken

    def run(self, index: int, limit_s: float, on_record: OnRecord) -> CellOutcome:
        """Measure the job's cell of that index; `on_record` gets each ledger event as it arrives."""
        stream = self.stream(index, limit_s)
        while True:
            try:
                said = next(stream)
            except StopIteration as end:
                return end.value
            on_record(*said)

    def stream(self, index: int, limit_s: float) -> Generator[Said, None, CellOutcome]:
        """Measure the job's cell of that index: each ledger event as it arrives, and at last how it ended."""
        self._outcome = outcome = CellOutcome([None] * len(self._ranks))
        for number, rank in enumerate(self._ranks):
            rank.code = None
            (self._folder / last_collective_file(number)).unlink(missing_ok=True)
        yield from self._wait(self._all_ready, self._start_limit_s)
        if all(rank.ready for rank in self._ranks) and self.alive:
            outcome.started = True
            self._command(index)
            yield from self._wait_for_end(limit_s)
        outcome.interrupted = self._woken
        if not self._all_ended():
            self._end_group(stacks=outcome.timed_out)
        outcome.exit_codes = [rank.code for rank in self._ranks]
        outcome.last_collectives = tuple(self._last_collective(rank) for rank in range(len(self._ranks)))
        outcome.log_tail = self._log_tail()
        return outcome

    def close(self) -> None:
        """End what still runs, and let go of every pipe. No process of the launch is left."""
        for rank in self._ranks:
            with contextlib.suppress(OSError):
                os.close(rank.commands)
        if any(rank.process.poll() is None for rank in self._ranks):
            self._wait_exits(1.0)
        self._end_group(stacks=False)
        for rank in self._ranks:
            self._forget(rank)
        self._ranks = []
        self._selector.close()

    def _start(self, rank: int, job_file: Path) -> _Rank:
        events_out, events_in = os.pipe()
        commands_out, commands_in = os.pipe()
        log = self._folder / log_file(rank)
        leader = self._ranks[0].process.pid if self._ranks else 0
        try:
            with log.open("wb") as output:
                process = subprocess.Popen(
                    [*self._command_line, str(job_file)],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=self._environment(rank, events_in, commands_out),
                    pass_fds=(events_in, commands_out),
                    process_group=leader,
                )
        except BaseException:
            os.close(events_out)
            os.close(commands_in)
            raise
        finally:
            os.close(events_in)
            os.close(commands_out)
        started = _Rank(process, events_out, commands_in, log)
        self._selector.register(events_out, selectors.EVENT_READ, started)
        return started

    def _environment(self, rank: int, events: int, commands: int) -> dict[str, str]:
        root = str(Path(__file__).resolve().parent.parent)
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
        threads = str(self._job.protocol.threads_per_rank)
        return {
            **os.environ,
            "PYTHONPATH": path,
            "PYTHONUNBUFFERED": "1",
            "OMP_NUM_THREADS": threads,
            "MKL_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
            "OMP_WAIT_POLICY": "PASSIVE",
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(self._job.world_size),
            EVENTS_FD: str(events),
            COMMANDS_FD: str(commands),
            PARENT_PID: str(os.getpid()),
        }

    def _command(self, index: int) -> None:
        for rank in self._ranks:
            # A rank that has just ended is seen as such by its pipe of events.
            with contextlib.suppress(BrokenPipeError):
                os.write(rank.commands, f"{index}\n".encode())

    def _wait_for_end(self, limit_s: float) -> Iterator[Said]:
        """Until every rank has ended the cell; once one failed the others have a short grace."""
        begin = time.monotonic()
        yield from self._wait(lambda: self._all_ended() or self._any_failed(), limit_s)
        if self._any_failed() and not self._all_ended() and not self._woken:
            left = max(0.0, limit_s - (time.monotonic() - begin))
            yield from self._wait(self._all_ended, min(PEER_GRACE_S, left))
            return
        self._outcome.timed_out = not self._all_ended() and not self._woken

    def _all_ready(self) -> bool:
        return all(rank.ready for rank in self._ranks) or any(rank.closed for rank in self._ranks)

    def _all_ended(self) -> bool:
        return all(rank.code is not None for rank in self._ranks)

    def _any_failed(self) -> bool:
        return any(rank.closed or rank.code for rank in self._ranks)

    def _wait(self, done: Callable[[], bool], limit_s: float) -> Iterator[Said]:
        """Take in what the ranks say until `done`, the limit, or a call to stop."""
        end = time.monotonic() + limit_s
        while not done() and not self._woken:
            left = end - time.monotonic()
            if left <= 0:
                return
            for key, _ in self._selector.select(left):
                if key.data is None:
                    self._woken = True
                else:
                    yield from self._read(key.data)

    def _read(self, rank: _Rank) -> Iterator[Said]:
        data = os.read(rank.events, 65_536)
        if not data:
            # The process ended; what lies unfinished in the buffer was never said.
            self._forget(rank)
            rank.code = _exit_code(rank.process) if rank.code is None else rank.code
            return
        *lines, rank.buffer = (rank.buffer + data).split(b"\n")
        for message in map(json.loads, lines):
            if message["event"] == "record":
                yield message["type"], message["data"]
            else:
                self._take(self._ranks.index(rank), rank, message)

    def _take(self, number: int, rank: _Rank, message: Mapping[str, Any]) -> None:
        event = message["event"]
        if event == "ready":
            rank.ready = True
        elif event == "report":
            self._outcome.reports[number] = message["report"]
        elif event == "failed":
            self._outcome.failures[number] = RankFailure(
                message["kind"], message["message"], message["consequence"]
            )
        elif event == "ended":
            rank.code = message["code"]

    def _forget(self, rank: _Rank) -> None:
        if not rank.closed:
            rank.closed = True
            self._selector.unregister(rank.events)
            os.close(rank.events)

    def _end_group(self, *, stacks: bool) -> None:
        """SIGKILL to the whole group; before it, where asked, each process writes its stacks into its log."""
        if not self._ranks:
            return
        if any(rank.process.poll() is None for rank in self._ranks):
            group = self._ranks[0].process.pid
            if stacks:
                self._signal(group, signal.SIGUSR1)
                time.sleep(_STACKS_S)
            self._signal(group, signal.SIGKILL)
            self._wait_exits(_REAP_S)
        for rank in self._ranks:
            self._forget(rank)

    @staticmethod
    def _signal(group: int, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, number)

    def _wait_exits(self, limit_s: float) -> None:
        end = time.monotonic() + limit_s
        for rank in self._ranks:
            with contextlib.suppress(subprocess.TimeoutExpired):
                rank.process.wait(max(0.01, end - time.monotonic()))

    def _last_collective(self, rank: int) -> str:
        record = read_last_collective(self._folder / last_collective_file(rank))
        if not record:
            return f"rank {rank}: none"
        return (
            f"rank {rank}: {record['operation']} over {record['axis']}, number {record['sequence']}, "
            f"shape {record['shape']}"
        )

    def _log_tail(self) -> str:
        """The end of what each rank wrote since the cell before (or since it started)."""
        parts: list[str] = []
        for number, rank in enumerate(self._ranks):
            with rank.log.open("rb") as handle:
                size = handle.seek(0, os.SEEK_END)
                handle.seek(max(rank.log_start, size - _LOG_TAIL_BYTES))
                rank.log_start = size
                text = handle.read().decode("utf-8", errors="replace").strip()
            if text:
                parts.append(f"--- rank {number}\n{text}")
        return "\n".join(parts)


def _exit_code(process: subprocess.Popen[bytes]) -> int | None:
    """The code of a process whose pipe has closed; it ends within moments of that."""
    try:
        return process.wait(_REAP_S)
    except subprocess.TimeoutExpired:
        return None
