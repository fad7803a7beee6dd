import os
import time

import torch

from harness._guards import CompileWatch
from harness._timer import run_delay_ns, time_step


def test_a_step_is_timed_with_its_loss_and_its_compilations() -> None:
    watch = CompileWatch()
    try:
        quiet = time_step(lambda: time.sleep(0.02) or 1.5, watch, torch.device("cpu"))
        loud = time_step(
            lambda: float(torch.compile(lambda x: x * 2, backend="eager")(torch.ones(()))),
            watch,
            torch.device("cpu"),
        )
    finally:
        watch.close()
    assert quiet.wall_ns >= 20_000_000
    assert (quiet.loss, quiet.compile_events) == (1.5, 0)
    assert loud.loss == 2.0
    assert loud.compile_events >= 1


def test_the_run_delay_grows_when_processes_outnumber_processors() -> None:
    """Three that always run on one processor: each waits for the others most of the time."""
    processor = min(os.sched_getaffinity(0))
    rivals = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            os.sched_setaffinity(0, {processor})
            end = time.monotonic() + 20
            while time.monotonic() < end:
                pass
            os._exit(0)
        rivals.append(child)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {processor})
    try:
        delay, begin = run_delay_ns(), time.perf_counter_ns()
        used = time.process_time_ns()
        while time.process_time_ns() - used < 100_000_000:
            pass
        wall, delay = time.perf_counter_ns() - begin, run_delay_ns() - delay
    finally:
        os.sched_setaffinity(0, before)
        for child in rivals:
            os.kill(child, 9)
            os.waitpid(child, 0)
    assert delay > wall / 10
