"""Rebuild, refresh and the worked questions over a large ledger that the real writer wrote.

    python benchmarks/warehouse.py --events 1000000 --store ledger-1m

Refresh is measured after each of several new segments, at a tenth of the size and at the full size: it
should not depend on it. A store that is there already is grown further.
"""

import argparse
import json
import random
import resource
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from schemas import (
    CellIdentity,
    CellPlan,
    FitArguments,
    Manifest,
    ModelSpec,
    ParallelShape,
    Protocol,
    WorkloadSpec,
)
from tracker.log import Log, read_seal
from tracker.warehouse import Warehouse, worked_questions

CAMPAIGNS = 4
CELLS = 250
LABELS = (
    "no_sharing",
    "depth_one",
    "uniform_depth_2",
    "uniform_depth_3",
    "savings_plateau_95",
    "full_sharing",
)
ROUNDS = 166
"""Samples of an attempt: with the seven labels and the other events about 1,170 lines."""

GEOMETRY = {
    "hidden_size": 256,
    "ffn_hidden_size": 512,
    "num_attention_heads": 4,
    "num_query_groups": 2,
    "kv_channels": 64,
}


def cell(number: int) -> CellIdentity:
    return CellIdentity(
        workload=f"grpo-{number // 8}",
        family="grpo",
        model=("attention", "hybrid")[number % 2],
        layers=4,
        shape=ParallelShape(tp=1 + number // 2 % 2, cp=1 + number // 4 % 2),
        group=number % 8,
    )


def manifest(campaign: str) -> Manifest:
    plans = [
        CellPlan(identity=cell(n), workload=WorkloadSpec(kind="grpo"), model=ModelSpec(preset="tiny"))
        for n in range(CELLS)
    ]
    return Manifest(
        campaign=campaign,
        table_id="bench",
        cells=tuple(plans),
        protocol=Protocol(rounds=ROUNDS),
        fit=FitArguments(terms=("token_per_rank",)),
    )


def candidate(label: str, number: int) -> dict:
    features = {
        "packed_tokens": 5000 + 10 * number,
        "segment_count": 9 + number,
        "max_depth": 1 + number,
        "segments_below": [0, 1, 2, 3, 4, 5, 6, 7],
    }
    return {"label": label, "labels": [label], "decisions": list(range(number)), "features": features}


def open_campaign(log: Log, campaign: str) -> int:
    plan = manifest(campaign)
    with log.open_segment(campaign, "campaign") as segment:
        segment.append("campaign.opened", {"manifest": plan.plain(), "manifest_digest": plan.digest})
    return segment.count


def started(identity: CellIdentity, number: int) -> dict:
    return {
        "cell": identity.key,
        "identity": identity.plain(),
        "number": number,
        "engine": "local",
        "environment": {"cpus": 2},
    }


def described(identity: CellIdentity) -> dict:
    uses_gdn = identity.model == "hybrid"
    return {
        "cell": identity.key,
        "facts": {
            "tp": identity.shape.tp,
            "cp": identity.shape.cp,
            "layers": 4,
            "gdn_layers": 3 * uses_gdn,
            "uses_gdn": uses_gdn,
        },
        "fingerprint": {
            "source": "s",
            "workload": "w",
            "device": "cpu",
            "device_class": {"capability": "cpu:bench", "memory": "below-70g"},
            "dtype": "float32",
            "geometry": GEOMETRY,
        },
        "rows": 16,
        "tokens": 5376,
        "tree_decisions": 3,
        "tree_segments": 20,
        "candidates": [candidate(label, n) for n, label in enumerate(LABELS)],
        "automatic": candidate("full_sharing", 5),
        "automatic_version": 1,
    }


def samples(key: str, dice: random.Random) -> Iterator[dict]:
    """Every round of every candidate; three in a hundred cannot be used."""
    for round in range(ROUNDS):
        for position, label in enumerate((*LABELS, "automatic")):
            ms = 100 + 10 * position + dice.gauss(0, 2)
            usable = dice.random() > 0.03
            yield {
                "cell": key,
                "candidate": label,
                "role": "measured" if round else "warmup",
                "round": round,
                "position": position,
                "ms": ms,
                "ms_ranks": [ms, ms - 0.1],
                "compile_events": 0,
                "run_delay_pct": [dice.random(), dice.random()],
                "loss": 2.5,
                "usable": usable,
                "reason": None if usable else "disturbed",
            }


def attempt(log: Log, campaign: str, number: int, dice: random.Random) -> int:
    """One attempt of a cell, every twentieth failed; returns its lines."""
    identity = cell(number % CELLS)
    key = identity.key
    with log.open_segment(campaign, "attempt", {"cell": key}) as segment:
        segment.append("cell.started", started(identity, 1 + number // CELLS))
        segment.append("cell.described", described(identity))
        segment.append_many("sample.recorded", samples(key, dice))
        if number % 20 == 19:
            segment.append("cell.failed", {"cell": key, "kind": "timeout", "message": "too slow"})
        else:
            done = {"cell": key, "usable": {}, "rank_reports": [{"rank": 0}], "wall_s": 9.5}
            segment.append("cell.completed", done)
    return segment.count + 1


def timed(action) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


class Bench:
    """Grows a ledger to a size and measures its warehouse there."""

    def __init__(self, store: Path) -> None:
        self.log = Log(store, sync_events=2_000)
        self.warehouse = Warehouse(store)
        self.dice = random.Random(0)
        seals = [read_seal(place) for place in self.log.segments()]
        self.events = sum(seal.count + 1 for seal in seals)
        self.attempts = max(0, len(seals) - CAMPAIGNS)

    def grow(self, events: int) -> float:
        start = time.perf_counter()
        while self.events < events:
            campaign = f"bench-{self.attempts % CAMPAIGNS}"
            if self.attempts < CAMPAIGNS:
                self.events += open_campaign(self.log, campaign)
            self.events += attempt(self.log, campaign, self.attempts // CAMPAIGNS, self.dice)
            self.attempts += 1
        return time.perf_counter() - start

    def refreshes(self, count: int = 20) -> dict[str, float]:
        """Seconds of a refresh after one new segment: median and most, compaction included."""
        found = []
        for _ in range(count):
            self.grow(self.events + 1)
            found.append(timed(self.warehouse.refresh))
        idle = statistics.median(timed(self.warehouse.refresh) for _ in range(5))
        return {"median": statistics.median(found), "most": max(found), "nothing new": idle}

    def questions(self) -> dict[str, float]:
        """Median seconds of three runs of each question."""
        return {
            question.name: statistics.median(
                timed(lambda q=question: self.warehouse.query(q.sql)) for _ in range(3)
            )
            for question in worked_questions()
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--store", type=Path, required=True)
    arguments = parser.parse_args()
    bench = Bench(arguments.store)
    report: dict[str, object] = {}
    for size in (arguments.events // 10, arguments.events):
        written = bench.grow(size)
        first = timed(bench.warehouse.refresh)
        files = [path for path in (arguments.store / "warehouse").rglob("*.parquet")]
        report[f"{bench.events:,} events"] = {
            "segments": bench.attempts + CAMPAIGNS,
            "written in s": written,
            "refresh of those in s": first,
            "refresh after one segment in s": bench.refreshes(),
            "questions in s": bench.questions(),
            "Parquet MB": sum(path.stat().st_size for path in files) / 1e6,
            "peak memory MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        }
        print(json.dumps(report, indent=1, default=float), flush=True)
    print("rebuild in s:", timed(bench.warehouse.rebuild))


if __name__ == "__main__":
    main()
