"""Real faults on demand, for tests of what then happens; a job's cells carry none unless a test put it in."""

import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from harness._job import Fault

_HEADROOM_BYTES = 2**28


class FaultInjector:
    """Strikes once, at the sample that a `Fault` names; does nothing without one."""

    def __init__(self, fault: Fault | None, rank: int) -> None:
        self._fault = fault if fault is not None and fault.rank == rank else None

    def strike(self, role: str, round_number: int, model: nn.Module) -> None:
        """Suffer the fault if it is due."""
        fault = self._fault
        if fault is None or (fault.role, fault.round) != (role, round_number):
            return
        self._fault = None
        _STRIKES[fault.kind](model)


def _raise(_: nn.Module) -> None:
    raise RuntimeError("a fault that a test asked for")


def _kill(_: nn.Module) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _hang(_: nn.Module) -> None:
    # The peers then wait for this rank inside their next collective.
    while True:
        time.sleep(60)


def _non_finite(model: nn.Module) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(float("nan"))


def _out_of_memory(_: nn.Module) -> None:
    """Run into a limit on the process's memory, a little above what it holds."""
    pages = int(Path("/proc/self/statm").read_bytes().split()[0])
    limit = pages * resource.getpagesize() + _HEADROOM_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    held: list[torch.Tensor] = []
    while True:
        held.append(torch.empty(_HEADROOM_BYTES // 8, dtype=torch.uint8))


def _leave(_: nn.Module) -> None:
    os._exit(0)


def _recompile(_: nn.Module) -> None:
    """One real compilation by dynamo."""
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1))


def _stall(_: nn.Module) -> None:
    """Every thread of the process stopped for a second, as a debugger or a busy host would."""
    waker = subprocess.Popen(["/bin/sh", "-c", f"sleep 1; kill -CONT {os.getpid()}"])
    os.kill(os.getpid(), signal.SIGSTOP)
    waker.wait()


_STRIKES: dict[str, Callable[[nn.Module], None]] = {
    "exception": _raise,
    "kill": _kill,
    "hang": _hang,
    "non_finite": _non_finite,
    "out_of_memory": _out_of_memory,
    "leave": _leave,
    "recompile": _recompile,
    "stall": _stall,
}
