"""How long a cold selection takes, beside the origin project's planner on this kind of machine.

    python benchmarks/planner_speed.py [--repeat 20] [--json]

Cold: from rows to the selected layout (tree, candidates, search); one thread. The other planner's medians
were measured once, on a 2-core machine of this kind: compare within a factor of two.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from rich.console import Console
from rich.table import Table

from planner import LayoutCache, ScoringFacts, build_prefix_tree, mandatory_candidates, select_layout

FACTS = ScoringFacts(cp_size=4, tp_size=1, layers=32, gdn_layers=24, uses_gdn=True)
TABLE = {
    "token_per_rank": 2002,
    "token_cp_exchange": 39,
    "token_tp_collective": 221,
    "gdn_token_per_rank": 594,
    "attention_token_cp_exchange": 27,
    "tiny_segment_per_layer": 219288,
    "level_cp_per_layer": 187255,
    "level_tp_per_layer": 684798,
    "gdn_level": 3336555,
    "gdn_level_tp": 1194872,
}
Pieces = list[list[tuple[int, int]]]


@dataclass(frozen=True)
class Case:
    """Rows to plan; `peer_ms` is the other planner's build plus select, `aim` how many times faster to be."""

    name: str
    rows: Sequence[Any]
    peer_ms: float
    aim: float


@dataclass(frozen=True)
class Timing:
    """Least milliseconds over the repetitions; `cold_cpu_ms` does not count what other processes took."""

    name: str
    rows: int
    tokens: int
    decisions: int
    build_ms: float
    candidates_ms: float
    exact_ms: float
    bounded_ms: float
    cold_ms: float
    cold_cpu_ms: float
    cold_bounded_ms: float
    peer_ms: float
    times_faster: float
    aim: float


def rows_of(pieces: Pieces) -> list[Any]:
    return [
        np.concatenate([np.arange(length, dtype=np.int64) + segment * 1_000_000 for segment, length in row])
        for row in pieces
    ]


def grpo(groups: int, samples: int, system: int, prompt: int, completion: int) -> list[Any]:
    return rows_of(
        [
            [(1, system), (2 + group, prompt), (1000 + group * samples + sample, completion)]
            for group in range(groups)
            for sample in range(samples)
        ]
    )


def chains(count: int, turns: int) -> list[Any]:
    """Conversations of which every turn is a row."""
    lengths = random.Random(1)
    pieces: Pieces = []
    fresh = 1
    for _ in range(count):
        stem: list[tuple[int, int]] = []
        for _ in range(turns):
            stem.append((fresh, lengths.randint(20, 200)))
            pieces.append([*stem, (fresh + 1, lengths.randint(1, 300))])
            fresh += 2
    return rows_of(pieces)


def forest(rows: int) -> list[Any]:
    """Rows that leave one another anywhere."""
    drawn = random.Random(2)
    pieces: Pieces = []
    for fresh in range(rows):
        source = drawn.choice(pieces) if pieces and drawn.random() < 0.95 else []
        stem = source[: drawn.randint(0, len(source))]
        pieces.append(
            [*stem, (2 * fresh + 1, drawn.randint(50, 1500)), (2 * fresh + 2, drawn.randint(50, 1500))]
        )
    return rows_of(pieces)


def cases() -> list[Case]:
    return [
        Case("win-cell 2x8", grpo(2, 8, 2048, 8192, 512), 2.00 + 0.71, 4),
        Case("2x16", grpo(2, 16, 1024, 2048, 254), 1.69 + 0.98, 4),
        Case("4x4", grpo(4, 4, 512, 3584, 510), 1.31 + 3.38, 4),
        Case("256 rows, forest", forest(256), 20.1 + 587, 10),
        Case("256 rows, 16x16", grpo(16, 16, 2048, 1024, 254), 15 + 746, 10),
        Case("256 rows, chains", chains(4, 64), 14 + 800, 10),
    ]


def least(work: Callable[[], Any], repeat: int, clock: Callable[[], float]) -> float:
    best = float("inf")
    for _ in range(repeat):
        begin = clock()
        work()
        best = min(best, clock() - begin)
    return best * 1e3


def measure(case: Case, repeat: int) -> Timing:
    wall, cpu = time.perf_counter, time.process_time
    tree = build_prefix_tree(case.rows)

    def cold() -> Any:
        return select_layout(build_prefix_tree(case.rows), FACTS, TABLE)

    def cold_bounded() -> Any:
        return select_layout(build_prefix_tree(case.rows), FACTS, TABLE, search="bounded")

    cold_ms = least(cold, repeat, wall)
    return Timing(
        name=case.name,
        rows=len(case.rows),
        tokens=tree.token_count,
        decisions=len(tree.decisions),
        build_ms=least(lambda: build_prefix_tree(case.rows), repeat, wall),
        candidates_ms=least(lambda: mandatory_candidates(tree), repeat, wall),
        exact_ms=least(lambda: select_layout(tree, FACTS, TABLE, search="exact"), repeat, wall),
        bounded_ms=least(lambda: select_layout(tree, FACTS, TABLE, search="bounded"), repeat, wall),
        cold_ms=cold_ms,
        cold_cpu_ms=least(cold, repeat, cpu),
        cold_bounded_ms=least(cold_bounded, repeat, wall),
        peer_ms=case.peer_ms,
        times_faster=case.peer_ms / cold_ms,
        aim=case.aim,
    )


def hit_us(rows: Sequence[Any]) -> float:
    """A look-up by the tree: its identity is made at the first look."""
    cache, tree = LayoutCache(), build_prefix_tree(rows)
    key = (tree.identity, FACTS, "digest", "table", None, None)
    cache.put(key, None)  # type: ignore[arg-type]
    return (
        least(
            lambda: cache.get((tree.identity, FACTS, "digest", "table", None, None)), 2000, time.perf_counter
        )
        * 1e3
    )


def import_ms(module: str) -> float:
    """Least of a few fresh interpreters; the first may have to compile."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    runs = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in range(4)
    ]
    return min(float(run.stdout) for run in runs) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    timings = [measure(case, asked.repeat) for case in cases()]
    imports = {name: import_ms(name) for name in ("planner", "mlflow")}
    hits = hit_us(cases()[0].rows)
    if asked.json:
        print(
            json.dumps(
                {"timings": [asdict(t) for t in timings], "hit_us": hits, "import_ms": imports}, indent=1
            )
        )
        return
    console = Console(width=150)
    console.print(table_of(timings))
    console.print(
        f"cache hit {hits:.1f} us; "
        f"import planner {imports['planner']:.0f} ms, mlflow {imports['mlflow']:.0f} ms"
    )


def table_of(timings: Sequence[Timing]) -> Table:
    table = Table(title="cold selection, least ms")
    for name in (
        "case",
        "decisions",
        "build",
        "candidates",
        "exact",
        "bounded",
        "cold",
        "cold cpu",
        "cold bounded",
    ):
        table.add_column(name, justify="left" if name == "case" else "right")
    for name in ("peer", "times faster", "aim"):
        table.add_column(name, justify="right")
    for t in timings:
        numbers = (
            t.build_ms,
            t.candidates_ms,
            t.exact_ms,
            t.bounded_ms,
            t.cold_ms,
            t.cold_cpu_ms,
            t.cold_bounded_ms,
        )
        shown = [f"{number:.3f}" for number in numbers]
        table.add_row(
            t.name, str(t.decisions), *shown, f"{t.peer_ms:.1f}", f"{t.times_faster:.1f}", f"{t.aim:g}"
        )
    return table


if __name__ == "__main__":
    main()
