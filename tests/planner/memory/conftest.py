"""Profiles, prices and growing batches that the tests of memory admission share."""

import random

import numpy as np
import pytest

from planner import ScoringFacts
from planner.memory import (
    ExpertFacts,
    ForwardSize,
    LayoutChoice,
    ModelFloor,
    Observation,
    Pricing,
    learn_profile,
)

EXACT = {
    "experts_per_token": 8,
    "hidden": 2048,
    "expert_hidden": 512,
    "value_bytes": 2,
    "fused_width": 1024,
    "expert_parallel": 1,
    "tensor_parallel": 1,
    "local_experts": 128,
    "permute_fusion": True,
    "offload": False,
    "activation_recompute": False,
    "modules": frozenset({"routed_experts", "expert_projections", "grouped_lora"}),
    "hooks": False,
}


@pytest.fixture
def exact_path():
    """Facts of the observed path, as keywords."""
    return dict(EXACT)


@pytest.fixture
def exact_experts():
    return ExpertFacts(**EXACT)


@pytest.fixture
def hand_set_choice():
    """Layouts by version 1 on one rank."""
    return LayoutChoice(ScoringFacts(1, 1, 4, 3, True))


@pytest.fixture
def observed():
    """A profile of one forward: packed tokens, logical tokens, peak and retained bytes."""

    def make(packed, logical, peak, retained):
        return learn_profile([Observation(ForwardSize(packed, logical), peak, retained)])

    return make


@pytest.fixture
def plain_pricing():
    """One forward of 10 tokens was seen: 1,000 bytes a token at the peak, 100 retained."""
    seen = Observation(ForwardSize(10, 10), 10_000, 1_000)
    return Pricing(ModelFloor(other_layers=(20,)), learn_profile([seen]))


@pytest.fixture
def draw_pricing():
    """A pricing drawn from a random generator: cold or learned from up to four forwards, any floors."""

    def draw(rng: random.Random) -> Pricing:
        experts = [
            ExpertFacts(rng.randint(1, 8), rng.randint(1, 64), rng.randint(1, 64), 2)
            for _ in range(rng.randint(0, 2))
        ]
        floor = ModelFloor(
            tuple(experts), (rng.randint(0, 4000),), rng.choice([0, 4, 4000]), rng.choice([1, 1, 4])
        )
        seen = []
        for _ in range(rng.randint(0, 4)):
            packed = rng.randint(1, rng.choice([10, 100, 10_000]))
            peak = rng.randint(0, packed * 5000)
            size = ForwardSize(packed, packed * rng.randint(1, 8) + rng.randint(0, packed))
            seen.append(Observation(size, peak, rng.randint(0, peak)))
        return Pricing(floor, learn_profile(seen) if seen else None, grad=rng.random() < 0.7)

    return draw


@pytest.fixture
def draw_pieces():
    """A batch as lists of (segment, length), rows grown from one another."""

    def draw(rng: random.Random, most_rows=12, longest=40):
        pieces, fresh = [], 1
        for _ in range(rng.randint(1, most_rows)):
            row = []
            if pieces and rng.random() < 0.8:
                source = rng.choice(pieces)
                row = list(source[: rng.randint(0, len(source))])
            for _ in range(rng.randint(0 if row else 1, 2)):
                row.append((fresh, rng.randint(1, longest)))
                fresh += 1
            pieces.append(row)
        return pieces

    return draw


@pytest.fixture
def flat_rows():
    """Rows of given lengths that share nothing."""

    def make(*lengths):
        return [np.arange(length) + 1000 * (row + 1) for row, length in enumerate(lengths)]

    return make
