"""One timed sample on one rank: wall time, who else had the processor, compilations."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from harness._guards import CompileWatch

NS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class LocalSample:
    """What one rank saw of a sample: wall, run-delay and steal nanoseconds, compilations, the loss."""

    wall_ns: int
    delay_ns: int
    steal_ns: int
    compile_events: int
    loss: float


def run_delay_ns() -> int:
    """Nanoseconds that the calling thread was ready and had no processor; 0 where the kernel is silent.

    The second field of `/proc/thread-self/schedstat`. The calling thread computes forward and backward; the
    transport's own threads wait beside it on every quiet machine as soon as ranks fill the processors.
    """
    try:
        with open("/proc/thread-self/schedstat", "rb") as handle:
            return int(handle.read().split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def steal_ns() -> int:
    """Nanoseconds, over all processors, that this machine's host gave to others; 0 where it does not say.

    It comes in ticks of the clock (10 ms on most systems).
    """
    try:
        with open("/proc/stat", "rb") as handle:
            fields = handle.readline().split()
        return int(fields[8]) * NS_PER_TICK
    except (OSError, IndexError, ValueError):
        return 0


def synchronize(device: torch.device) -> None:
    """Wait until the device has done what was asked of it; nothing to wait for on a CPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def time_step(step: Callable[[], float], watch: CompileWatch, device: torch.device) -> LocalSample:
    """Run a step (forward and backward, returning its loss) once under the clock."""
    mark = watch.mark()
    synchronize(device)
    delay, steal = run_delay_ns(), steal_ns()
    begin = time.perf_counter_ns()
    loss = step()
    synchronize(device)
    wall = time.perf_counter_ns() - begin
    # A thread that ended takes its run delay with it, hence not below zero.
    return LocalSample(
        wall_ns=wall,
        delay_ns=max(0, run_delay_ns() - delay),
        steal_ns=max(0, steal_ns() - steal),
        compile_events=watch.since(mark),
        loss=loss,
    )
