"""What telling a production selection costs the trainer, beside other ways to hand something to a thread.

Each way is called with the same plan and time, in turns within one run, as fast as it goes and once every two
milliseconds; each has its thread that takes what was handed over, and ours writes it durably.

    python -m benchmarks.observe [--calls 2000] [--rounds 5] [--json]
"""

import argparse
import json
import logging
import logging.handlers
import queue
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from planner import Plan, ScoringFacts, build_prefix_tree, select_layout
from planner._version import Scoring
from tracker.observe import SelectionObserver

TABLE = {"token_per_rank": 2_000, "tiny_segment_per_layer": 90_000, "gdn_level": 700_000}
Tell = Callable[[Plan, float], object]


def planned() -> Plan:
    """Sixteen rows that share a system prompt and prompts, as the trainer's planner returns them."""
    rows = [[*range(512), *([9_000 + row // 8] * 256), *([10_000 + row] * 128)] for row in range(16)]
    facts = ScoringFacts(cp_size=1, tp_size=1, layers=32, gdn_layers=24, uses_gdn=True)
    tree = build_prefix_tree(rows)
    return Plan(tree, select_layout(tree, facts, TABLE), Scoring("table", TABLE, facts, 2, "d" * 64))


def through_logging(folder: Path) -> tuple[Tell, Callable[[], object]]:
    handed: queue.SimpleQueue[logging.LogRecord] = queue.SimpleQueue()
    logger = logging.getLogger("benchmark")
    logger.propagate = False
    logger.setLevel(logging.INFO)
    logger.handlers = [logging.handlers.QueueHandler(handed)]  # type: ignore[arg-type]
    file = logging.FileHandler(folder / "log.txt")
    listener = logging.handlers.QueueListener(handed, file)  # type: ignore[arg-type]
    listener.start()

    def end() -> None:
        listener.stop()
        file.close()

    return lambda plan, ms: logger.info("%s %s", plan.decisions, ms), end


def through_queue(folder: Path) -> tuple[Tell, Callable[[], object]]:
    handed: queue.Queue[tuple[Plan, float] | None] = queue.Queue(1024)
    thread = threading.Thread(target=lambda: all(iter(handed.get, None)), daemon=True)
    thread.start()

    def tell(plan: Plan, ms: float) -> None:
        handed.put((plan, ms))

    def end() -> None:
        handed.put(None)
        thread.join()

    return tell, end


def through_observer(folder: Path) -> tuple[Tell, Callable[[], object]]:
    observer = SelectionObserver(folder, capacity=100_000, flush_s=0.2)
    return observer.observe, observer.close


def through_full_observer(folder: Path) -> tuple[Tell, Callable[[], object]]:
    """One whose queue is full: what is told is counted and dropped."""
    observer = SelectionObserver(folder, capacity=1, flush_s=3600)
    return observer.observe, observer.close


WAYS = {
    "observer": through_observer,
    "observer, queue full": through_full_observer,
    "queue.Queue.put": through_queue,
    "logging QueueHandler": through_logging,
}


def call_times(way: str, plan: Plan, calls: int, pause_s: float) -> list[float]:
    """Microseconds of each call."""
    with tempfile.TemporaryDirectory() as folder:
        tell, end = WAYS[way](Path(folder))
        tell(plan, 1.0)
        taken: list[float] = []
        for _ in range(calls):
            started = time.perf_counter_ns()
            tell(plan, 12.5)
            taken.append((time.perf_counter_ns() - started) / 1000)
            if pause_s:
                time.sleep(pause_s)
        end()
    return taken


def measure(calls: int, rounds: int) -> list[dict[str, object]]:
    plan = planned()
    results: list[dict[str, object]] = []
    for pace, pause_s, count in (("back to back", 0.0, calls), ("each 2 ms", 0.002, max(calls // 10, 50))):
        times: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(rounds):
            for way in WAYS:
                times[way] += call_times(way, plan, count, pause_s)
        for way, taken in times.items():
            ordered = sorted(taken)
            results.append(
                {
                    "pace": pace,
                    "way": way,
                    "p50_us": round(statistics.median(ordered), 2),
                    "p99_us": round(ordered[int(0.99 * len(ordered))], 2),
                    "mean_us": round(statistics.fmean(ordered), 2),
                    "above_20_us_pct": round(100 * sum(t > 20 for t in ordered) / len(ordered), 2),
                }
            )
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = measure(options.calls, options.rounds)
    if options.json:
        print(json.dumps(results, indent=1))
        return
    print(f"{'pace':14} {'way':22} {'p50 us':>8} {'p99 us':>8} {'mean us':>8} {'> 20 us %':>10}")
    for row in results:
        print("{:14} {:22} {:8} {:8} {:8} {:10}".format(*row.values()))


if __name__ == "__main__":
    main()
