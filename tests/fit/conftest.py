"""Evidence for the fit's tests: the H200 certificate's cells, and synthetic cells of known truth."""

import json
import random
from pathlib import Path

import pytest

from fit import FitCandidate, FitCell
from planner import SEGMENT_THRESHOLDS, TERMS, WORK_PER_US, LayoutFeatures, ScoringFacts
from schemas import HoldoutRule

PUBLISHED_HOLDOUT = HoldoutRule(contains=("cp4|g4",), odd_groups_of=("cal-ellavox",))


def certified_cell(row):
    tp, cp = int(row["facts"]["tp"]), int(row["facts"]["cp"])
    segments = {c["label"]: c["features"]["segment_count"] for c in row["candidates"]}
    return FitCell(
        key=row["cell"],
        model=row["cell"].split("|")[1],
        family=row["cell"].split("|")[0],
        shape=f"tp{tp}|cp{cp}",
        facts=ScoringFacts(
            cp_size=cp,
            tp_size=tp,
            layers=int(row["facts"]["layers"]),
            gdn_layers=int(row["facts"]["gdn_layers"]),
            uses_gdn=bool(row["facts"]["uses_gdn"]),
        ),
        candidates=tuple(
            FitCandidate(
                label=c["label"],
                features=LayoutFeatures(
                    **{**c["features"], "segments_below": tuple(c["features"]["segments_below"])}
                ),
                median_ms=c["median_ms"],
                n=c["n"],
                spread_pct=c["spread_pct"],
                shared_decisions=segments[c["label"]] - segments["no_sharing"],
            )
            for c in row["candidates"]
        ),
    )


@pytest.fixture(scope="session")
def h200(shared: Path):
    """The certificate as JSON."""
    return json.loads((shared / "evidence" / "h200-dense-h2560.certificate.json").read_text())


@pytest.fixture(scope="session")
def h200_cells(h200):
    return tuple(certified_cell(row) for row in h200["cells"])


@pytest.fixture(scope="session")
def h200_training(h200_cells):
    return tuple(cell for cell in h200_cells if not PUBLISHED_HOLDOUT.holds_out(cell.key))


@pytest.fixture(scope="session")
def h200_holdout(h200_cells):
    return tuple(cell for cell in h200_cells if PUBLISHED_HOLDOUT.holds_out(cell.key))


def synthetic_features(rng, scale=1):
    """A made-up layout; numbers hang together, but no tree stands behind them."""
    lengths = [rng.randint(1, 6000 * scale) for _ in range(rng.randint(2, 40))]
    return LayoutFeatures(
        packed_tokens=sum(lengths),
        segment_count=len(lengths),
        max_depth=rng.randint(1, 6),
        segments_below=tuple(sum(n < t for n in lengths) for t in SEGMENT_THRESHOLDS),
    )


def synthetic_cell(rng, number, truth, *, noise=0.0, candidates=6, scale=1):
    """A cell whose times are the truth's (milli-microseconds), with multiplicative noise."""
    shape = rng.choice([(1, 1), (1, 2), (2, 1), (2, 2), (1, 3)])
    layers = rng.choice([2, 4, 32])
    gdn = rng.choice([0, 3 * layers // 4])
    facts = ScoringFacts(tp_size=shape[0], cp_size=shape[1], layers=layers, gdn_layers=gdn, uses_gdn=gdn > 0)
    measured = []
    for place in range(candidates):
        features = synthetic_features(rng, scale)
        work = sum(truth[name] * TERMS[name](features, facts) for name in truth)
        ms = work / WORK_PER_US / 1e6 * rng.lognormvariate(0.0, noise)
        measured.append(
            FitCandidate(f"candidate_{place}", features, ms, 7, 250 * noise, features.segment_count - 2)
        )
    return FitCell(
        f"cell-{number}|tp{shape[0]}|cp{shape[1]}",
        f"model-{gdn > 0}",
        f"family-{number % 3}",
        f"tp{shape[0]}|cp{shape[1]}",
        facts,
        tuple(measured),
    )


@pytest.fixture
def make_cells():
    """``make_cells(count, truth, seed=0, noise=0.0, candidates=6)``."""

    def make(count, truth, *, seed=0, **shape):
        rng = random.Random(seed)
        return tuple(synthetic_cell(rng, number, truth, **shape) for number in range(count))

    return make
