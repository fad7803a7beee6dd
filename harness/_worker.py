"""`python -m harness._worker JOB`: one process for each rank, which forks another for each cell of the job.

What is slow to load is loaded once; each cell still has a process of its own, with its own exit code, memory
and random state. Started by our launcher (commands and events over inherited pipes) or under torchrun (every
cell in turn, events into a file for each rank in the job's folder).
"""

import ctypes
import faulthandler
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from harness._job import COMMANDS_FD, EVENTS_FD, PARENT_PID, Job, JobCell, event_line
from schemas import InvalidInputError, LayoutLedgerError

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """Measure the job's cells on this rank; the first exit code that is not 0."""
    environment = os.environ
    _follow(environment.get(PARENT_PID))
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    try:
        job, rank = _read_job(arguments, environment)
    except LayoutLedgerError as error:
        print(f"worker: {error}", file=sys.stderr)
        return error.exit_code
    send = _sender(job, rank, environment)
    # Imported late: the parent must be followed before the seconds that this takes.
    from harness import _rank

    send(event_line("ready", rank=rank, pid=os.getpid()))
    local_rank = int(environment.get("LOCAL_RANK", rank))
    worst = 0
    for index in _commands(job, environment):
        cell = job.cells[index]
        meeting = _rendezvous(cell, index)
        code = _in_child(lambda: _rank.run_cell(job, cell, rank, local_rank, meeting, send))  # noqa: B023
        send(event_line("ended", cell=index, code=code))
        worst = worst or code
    return abs(worst)


def _follow(parent: str | None) -> None:
    """End with the process that started this one, so that no rank outlives a runner that was killed."""
    if parent is None:
        return
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # It may have ended before the call above.
    if os.getppid() != int(parent):
        os._exit(1)


def _read_job(arguments: list[str], environment: Mapping[str, str]) -> tuple[Job, int]:
    if len(arguments) != 1:
        raise InvalidInputError("give the job file as the only argument")
    path = Path(arguments[0])
    try:
        job = Job.parse(json.loads(path.read_text("utf-8")), where=str(path))
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"job file {path}: {error}") from error
    rank, size = int(environment.get("RANK", "0")), int(environment.get("WORLD_SIZE", "1"))
    if size != job.world_size:
        raise InvalidInputError(
            f"job file {path} is for {job.world_size} ranks, {size} were started; start as many as it says"
        )
    return job, rank


def _sender(job: Job, rank: int, environment: Mapping[str, str]) -> Callable[[dict[str, Any]], None]:
    """Writes a JSON line at a time, unbuffered: what a process had said is not lost when it is killed."""
    descriptor = (
        int(environment[EVENTS_FD])
        if EVENTS_FD in environment
        else os.open(
            Path(job.folder) / f"rank{rank}.events.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644
        )
    )

    def send(message: dict[str, Any]) -> None:
        data = (json.dumps(message, allow_nan=False) + "\n").encode()
        while data:
            data = data[os.write(descriptor, data) :]

    return send


def _commands(job: Job, environment: Mapping[str, str]) -> Iterator[int]:
    """Indices of the cells to measure: as they are asked for, or all in turn where nobody asks."""
    if COMMANDS_FD not in environment:
        yield from range(len(job.cells))
        return
    with os.fdopen(int(environment[COMMANDS_FD]), "rb") as commands:
        for line in commands:
            yield int(line)


def _rendezvous(cell: JobCell, index: int) -> str:
    """Where the ranks of a cell meet; under torchrun a port of its own, beside the one torchrun holds."""
    if EVENTS_FD in os.environ or "MASTER_ADDR" not in os.environ:
        return cell.rendezvous
    # Else torch looks for torchrun's own server at this port instead of opening one.
    os.environ.pop("TORCHELASTIC_USE_AGENT_STORE", None)
    return f"tcp://{os.environ['MASTER_ADDR']}:{int(os.environ['MASTER_PORT']) + 1 + index}"


def _in_child(work: Callable[[], int]) -> int:
    """Run in a forked process; its exit code, negative for a signal."""
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _follow(str(parent))
            code = work()
        finally:
            # Without interpreter shutdown: a process group being torn down there may abort.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
