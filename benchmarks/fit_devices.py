"""Simulated devices: evidence whose truth is known, to hold a fitting method to more than one measured set.

    python benchmarks/fit_devices.py [SEED ...]

No device here follows the ten terms: padding, overlap, launch limits, quadratic attention and sequential
scans bend the times, cells run at their own efficiency, samples are noisy and sometimes disturbed. So a
method is judged by the regret of its selections in the true times of cells that it has not seen.
"""

import math
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from fit import METHODS, FitCandidate, FitCell, fit_table, judge_cells
from fit._judge import percentile_95
from planner import TERMS, ScoringFacts, build_prefix_tree, mandatory_candidates
from planner._layout import Layout
from schemas import FitArguments

WARP = 64


@dataclass(frozen=True)
class Device:
    """Costs in microseconds, a layer where nothing else is said."""

    name: str
    token: float = 2.0
    gdn_token: float = 0.6
    attention: float = 2e-5
    cp_token: float = 0.05
    tp_token: float = 0.25
    launch: float = 200.0
    segment: float = 0.0
    level: float = 300.0
    scan: float = 12.0
    cp_level: float = 150.0
    tp_level: float = 400.0
    overlap: float = 0.7
    tile: int = 128
    efficiency: float = 0.05
    layout_error: float = 0.01
    sample_noise: float = 0.006
    disturbed: float = 0.02
    length_scale: float = 1.0
    layers: tuple[int, ...] = (36, 32)

    def true_ms(self, layout: Layout, facts: ScoringFacts) -> float:
        """Time of a layout without noise or efficiency."""
        levels: dict[int, list[tuple[int, int]]] = {}
        for segment in layout.segments:
            levels.setdefault(segment.level, []).append((segment.length, segment.start))
        attention = sum(self._level(parts, facts, gdn=False, first=n == 1) for n, parts in levels.items())
        gdn = sum(self._level(parts, facts, gdn=True, first=n == 1) for n, parts in levels.items())
        return (attention * facts.attention_layers + gdn * facts.gdn_layers) / 1000.0

    def _level(self, parts: list[tuple[int, int]], facts: ScoringFacts, *, gdn: bool, first: bool) -> float:
        ranks = facts.tp_size * facts.cp_size
        tile = self.tile * facts.cp_size
        padded = sum(math.ceil(length / tile) * tile for length, _ in parts)
        tokens = sum(length for length, _ in parts)
        compute = self.token * padded / ranks + self.segment * len(parts)
        if gdn:
            compute += self.gdn_token * padded / ranks + self.scan * max(n for n, _ in parts) / WARP / ranks
            compute += self.level
        else:
            compute += self.attention * sum(n * (start + n / 2) for n, start in parts) / ranks
        compute = max(compute, self.launch if first or gdn else 0.0)
        cp, tp = facts.cp_size, facts.tp_size
        moved = self.cp_token * tokens * (cp - 1) / cp + self.tp_token * tokens * (tp - 1) / tp
        latency = 0.0 if first else self.cp_level * (cp - 1) + self.tp_level * (tp - 1)
        hidden = self.overlap * min(compute, moved)
        return compute + moved - hidden + latency


GPU = Device("gpu")
CPU = Device(
    "cpu", token=25.0, gdn_token=12.0, attention=0.01, cp_token=4.0, tp_token=8.0, launch=150.0,
    segment=300.0, level=700.0, scan=40.0, cp_level=300.0, tp_level=300.0, overlap=0.0, tile=1,
    efficiency=0.03, layout_error=0.01, sample_noise=0.05, disturbed=0.1, length_scale=0.05, layers=(4,),
)  # fmt: skip
DEVICES = (
    GPU,
    replace(GPU, name="gpu-linear", attention=0.0, scan=0.0, launch=0.0, overlap=0.0, tile=1, efficiency=0.0),
    replace(GPU, name="gpu-launch-bound", launch=6000.0, length_scale=0.4),
    replace(GPU, name="gpu-long-attention", attention=2e-4, length_scale=2.0),
    replace(GPU, name="gpu-slow-network", cp_token=0.8, tp_token=1.5, cp_level=2000.0, tp_level=3000.0),
    replace(GPU, name="gpu-dear-levels", level=5000.0, scan=40.0),
    replace(GPU, name="gpu-noisy", sample_noise=0.05, disturbed=0.1, efficiency=0.15, layout_error=0.02),
    replace(GPU, name="gpu-wide-tiles", tile=512),
    CPU,
    replace(CPU, name="cpu-noisy", sample_noise=0.12, disturbed=0.2),
    replace(CPU, name="cpu-slow-gloo", cp_token=20.0, tp_token=40.0, cp_level=4000.0, tp_level=4000.0),
)

SHAPES = ((1, 1), (1, 2), (1, 4), (2, 1))
WORKLOADS = ("grpo", "grpo-wide", "groups", "heterogeneous", "mixed", "caterpillar", "turns", "pairs")


def rows_of(family: str, rng: Random, scale: float) -> list[np.ndarray]:
    """Token rows of a workload family, lengths drawn around the family's own."""

    def tokens(low: int, high: int) -> np.ndarray:
        count = max(1, round(rng.randint(low, high) * scale))
        return np.array([rng.getrandbits(31) for _ in range(min(count, 24))] + [0] * max(0, count - 24))

    def under(*parts: np.ndarray) -> np.ndarray:
        return np.concatenate(parts)

    head = tokens(200, 3000)
    rows: list[np.ndarray] = []
    if family in ("grpo", "grpo-wide", "groups", "pairs"):
        prompts, wide = {"grpo": (2, 8), "grpo-wide": (1, 16), "groups": (4, 4), "pairs": (6, 2)}[family]
        low = rng.choice([64, 256, 1024])
        for _ in range(prompts):
            prompt = under(head, tokens(200, 6000))
            rows += [under(prompt, tokens(low, 2 * low)) for _ in range(wide)]
    elif family in ("heterogeneous", "mixed"):
        for _ in range(rng.randint(2, 4)):
            prompt = under(head, tokens(50, 4000))
            for _ in range(rng.randint(1, 3)):
                middle = under(prompt, tokens(20, 2000))
                rows += [under(middle, tokens(30, 3000)) for _ in range(rng.randint(1, 4))]
        if family == "mixed":
            rows += [tokens(200, 4000) for _ in range(rng.randint(1, 3))]
    else:
        spine = head
        for _ in range(rng.randint(4, 9)):
            rows.append(under(spine, tokens(30, 900)))
            spine = under(spine, tokens(20, 1500) if family == "turns" else tokens(10, 300))
        rows.append(under(spine, tokens(30, 900)))
    return rows


def models(device: Device) -> Iterator[tuple[str, int, int]]:
    """Name, layers and GDN layers of each model that the device is measured with."""
    yield "hybrid", device.layers[-1], 3 * device.layers[-1] // 4
    yield "attention", device.layers[0], 0


def measured_cells(device: Device, seed: int, count: int) -> tuple[FitCell, ...]:
    """Cells as a campaign would measure them."""
    return tuple(_cell(device, Random(f"{device.name}/{seed}/{n}"), n, noisy=True) for n in range(count))


def true_cells(device: Device, seed: int, count: int) -> tuple[FitCell, ...]:
    """Other cells of the same device with their true times."""
    return tuple(
        _cell(device, Random(f"{device.name}/{seed}/true/{n}"), n, noisy=False) for n in range(count)
    )


def _cell(device: Device, rng: Random, number: int, *, noisy: bool) -> FitCell:
    family = WORKLOADS[number % len(WORKLOADS)]
    model, layers, gdn = list(models(device))[rng.random() < 0.35]
    tp, cp = rng.choice(SHAPES)
    facts = ScoringFacts(tp_size=tp, cp_size=cp, layers=layers, gdn_layers=gdn, uses_gdn=gdn > 0)
    candidates = mandatory_candidates(build_prefix_tree(rows_of(family, rng, device.length_scale)))
    efficiency = rng.lognormvariate(0.0, device.efficiency)
    measured: list[FitCandidate] = []
    for candidate in sorted(candidates, key=lambda c: c.labels[0]):
        ms = device.true_ms(candidate.layout, facts) * efficiency
        ms *= rng.lognormvariate(0.0, device.layout_error)
        median, spread = _sampled(device, rng, ms) if noisy else (ms, 0.0)
        measured.append(
            FitCandidate(
                label=candidate.labels[0],
                features=candidate.layout.features,
                median_ms=median,
                n=7,
                spread_pct=spread,
                shared_decisions=len(candidate.decisions),
            )
        )
    key = f"{family}-{number}|{model}|L{layers}|tp{tp}|cp{cp}"
    return FitCell(key, model, family, f"tp{tp}|cp{cp}", facts, tuple(measured))


def _sampled(device: Device, rng: Random, ms: float) -> tuple[float, float]:
    samples = [ms * rng.lognormvariate(0.0, device.sample_noise) for _ in range(7)]
    samples = [s * (1 + rng.random()) if rng.random() < device.disturbed else s for s in samples]
    median = statistics.median(samples)
    return median, (max(samples) - min(samples)) / median * 100


def regrets(device: Device, seed: int, method: str, *, measured: int, judged: int) -> list[float]:
    """True regret, percent, of a table fitted on measured cells, in each of other cells of the device."""
    arguments = FitArguments(method=method, terms=tuple(TERMS))
    table = fit_table(measured_cells(device, seed, measured), arguments).coefficients
    return [verdict.regret_pct for verdict in judge_cells(true_cells(device, seed, judged), table)]


def main() -> None:
    seeds = [int(word) for word in sys.argv[1:]] or [0, 1]
    print("true regret of unseen cells, percent: mean / p95 / max")
    for measured in (20, 40):
        for device in DEVICES:
            print(f"{device.name:20} {measured} cells", end="")
            for method in METHODS:
                found = [
                    value
                    for seed in seeds
                    for value in regrets(device, seed, method, measured=measured, judged=120)
                ]
                mean = statistics.fmean(found)
                print(f"   {method} {mean:5.2f} /{percentile_95(found):6.2f} /{max(found):7.2f}", end="")
            print(flush=True)


if __name__ == "__main__":
    main()
