"""Small models and a batch of rows with a common start, for steps under a budget."""

from dataclasses import replace

import numpy as np
import pytest

from harness._comm import single_process
from harness.model._decoder import build_model
from harness.model._presets import preset
from planner import build_prefix_tree, plan_layout

PREFIX, TAIL = 4, 60


@pytest.fixture
def make_model():
    """A preset of two layers on one rank, with changes."""

    def make(name="moe-tiny", **changes):
        return build_model(replace(preset(name), **{"layers": 2, **changes}), single_process(), 3)

    return make


@pytest.fixture
def make_rows():
    """Rows of random tokens and different lengths that share their first `PREFIX`."""

    def make(count, tail=TAIL):
        rng = np.random.default_rng(count)
        start = rng.integers(0, 256, PREFIX)
        return [
            np.concatenate([start, np.array([row]), rng.integers(0, 256, tail + 3 * (row % 3))])
            for row in range(count)
        ]

    return make


@pytest.fixture
def full_sharing():
    """The layout of rows that computes every common prefix once."""

    def plan(rows):
        tree = build_prefix_tree(rows)
        return plan_layout(tree, tree.decisions)

    return plan
