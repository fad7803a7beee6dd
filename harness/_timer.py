"""One timed sample on one rank: wall time, scheduler run delay, compilations."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from harness._guards import CompileWatch

_TASKS = "/proc/self/task"


@dataclass(frozen=True, slots=True)
class LocalSample:
    """What one rank saw of a sample: wall and run-delay nanoseconds, compilations, the loss."""

    wall_ns: int
    delay_ns: int
    compile_events: int
    loss: float


def run_delay_ns() -> int:
    """Nanoseconds that this process's threads were ready and had no processor; 0 where the kernel is silent.

    The second field of `/proc/self/task/*/schedstat`, summed over the threads alive now.
    """
    total = 0
    try:
        tasks = os.listdir(_TASKS)
    except FileNotFoundError:
        return 0
    for task in tasks:
        try:
            with open(f"{_TASKS}/{task}/schedstat", "rb") as handle:
                total += int(handle.read().split()[1])
        except (OSError, IndexError, ValueError):
            continue
    return total


def synchronize(device: torch.device) -> None:
    """Wait until the device has done what was asked of it; nothing to wait for on a CPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def time_step(step: Callable[[], float], watch: CompileWatch, device: torch.device) -> LocalSample:
    """Run a step (forward and backward, returning its loss) once under the clock."""
    mark = watch.mark()
    synchronize(device)
    delay = run_delay_ns()
    begin = time.perf_counter_ns()
    loss = step()
    synchronize(device)
    wall = time.perf_counter_ns() - begin
    # A thread that ended takes its run delay with it, hence not below zero.
    return LocalSample(wall, max(0, run_delay_ns() - delay), watch.since(mark), loss)
