"""How planning grows with rows, tokens, decisions and depth; writes a figure.

    python benchmarks/planner_growth.py [--out growth.png] [--json]

Two families: *wide* (16 rows a prompt in 4 branches each, up to 100,000 rows) and *deep* (a chain of which
each row is one step longer, up to 10,000 levels). CPU seconds of one thread, and the peak of the
process's memory.
"""

import argparse
import json
import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from matplotlib.figure import Figure

from planner import ScoringFacts, build_prefix_tree, select_layout

FACTS = ScoringFacts(cp_size=4, tp_size=1, layers=32, gdn_layers=24, uses_gdn=True)
TABLE = {"token_per_rank": 2002, "tiny_segment_per_layer": 219288, "gdn_level": 3336555}
WIDE_ROWS = (1_000, 3_000, 10_000, 30_000, 100_000)
DEEP_ROWS = (100, 300, 1_000, 3_000, 10_000)


@dataclass(frozen=True)
class Point:
    """One size of one family."""

    family: str
    rows: int
    tokens: int
    decisions: int
    depth: int
    search: str
    build_s: float
    select_s: float
    peak_mib: int


def wide(count: int) -> list[Any]:
    drawn = np.random.default_rng(0)
    system = drawn.integers(0, 1000, 64, dtype=np.int32)
    rows: list[Any] = []
    for _ in range(count // 16):
        prompt = drawn.integers(0, 1000, 100, dtype=np.int32)
        for _ in range(4):
            branch = drawn.integers(0, 1000, 20, dtype=np.int32)
            tails = drawn.integers(0, 1000, (4, 20), dtype=np.int32)
            rows += [np.concatenate((system, prompt, branch, tail)) for tail in tails]
    return rows


def deep(count: int) -> list[Any]:
    stem = np.arange(count, dtype=np.int32)
    return [np.append(stem[: row + 1], np.int32(10_000_000 + row)) for row in range(count)]


def cpu(work: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.process_time()
    result = work()
    return result, time.process_time() - begin


def points() -> Iterator[Point]:
    for family, make, sizes in (("wide", wide, WIDE_ROWS), ("deep", deep, DEEP_ROWS)):
        for size in sizes:
            rows = make(size)
            tree, build_s = cpu(lambda rows=rows: build_prefix_tree(rows))
            picked, select_s = cpu(lambda tree=tree: select_layout(tree, FACTS, TABLE))
            yield Point(
                family,
                len(rows),
                tree.token_count,
                len(tree.decisions),
                max(tree.depths),
                picked.search,
                build_s,
                select_s,
                resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
            )


def draw(found: Sequence[Point], path: Path) -> None:
    figure: Any = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for family, marker in (("wide", "o"), ("deep", "s")):
        own = [point for point in found if point.family == family]
        left.loglog([p.tokens for p in own], [p.build_s for p in own], marker=marker, label=family)
        right.loglog([p.decisions for p in own], [p.select_s for p in own], marker=marker, label=family)
    for axes, name, size in ((left, "tree", "tokens"), (right, "search", "decisions")):
        low, high = axes.get_xlim()
        base = axes.get_ylim()[0]
        axes.loglog([low, high], [base, base * high / low], color="#999999", linestyle=":", label="linear")
        axes.set(title=name, xlabel=size, ylabel="CPU seconds")
        axes.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("planner_growth.png"))
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found: list[Point] = []
    for point in points():
        found.append(point)
        if not asked.json:
            print(
                f"{point.family:5} {point.rows:7,} rows {point.tokens:11,} tokens "
                f"{point.decisions:7,} decisions, depth {point.depth:6,}: tree {point.build_s:7.3f} s, "
                f"{point.search} {point.select_s:7.3f} s, peak {point.peak_mib:,} MiB",
                flush=True,
            )
    draw(found, asked.out)
    if asked.json:
        print(json.dumps([asdict(point) for point in found], indent=1))


if __name__ == "__main__":
    main()
