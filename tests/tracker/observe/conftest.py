"""A planned batch, and observers that end with the test."""

import subprocess
import sys
from pathlib import Path

import pytest

from planner import Plan, ScoringFacts, build_prefix_tree, select_layout
from planner._version import Scoring

REPOSITORY = Path(__file__).resolve().parents[3]
TABLE = {"token_per_rank": 40_000, "tiny_segment_per_layer": 300_000, "gdn_level": 900_000}
FACTS = ScoringFacts(cp_size=2, tp_size=1, layers=4, gdn_layers=3, uses_gdn=True)


@pytest.fixture(scope="session")
def plan() -> Plan:
    """A batch of eight rows planned under a table of version 2."""
    rows = [[*range(64), *([100 + row // 4] * 32), *([200 + row] * 16)] for row in range(8)]
    tree = build_prefix_tree(rows)
    scoring = Scoring("known-table", TABLE, FACTS, 2, "d" * 64)
    return Plan(tree, select_layout(tree, FACTS, TABLE), scoring)


@pytest.fixture
def trainer():
    """Run a program as a trainer would be: its finished process."""

    def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", program, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, timeout=400)

    return run
