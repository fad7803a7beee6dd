"""Rows, tables and facts that the planner's tests share."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from planner import ScoringFacts

DENSE_TABLE = {
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
GOLDEN_FACTS = [
    ScoringFacts(1, 1, 32, 24, True),
    ScoringFacts(4, 1, 32, 24, True),
    ScoringFacts(1, 2, 32, 24, True),
    ScoringFacts(2, 1, 36, 0, False),
    ScoringFacts(4, 1, 36, 0, False),
    ScoringFacts(1, 1, 2, 0, False),
]


def rows_of(pieces):
    """Rows from lists of (segment id, length): the token of id s at position i is s * 1,000,000 + i."""
    return [
        np.concatenate([np.arange(length, dtype=np.int64) + segment * 1_000_000 for segment, length in row])
        for row in pieces
    ]


def grpo(groups, samples, lengths):
    """Rows of a system prompt shared by all, prompts shared by their samples, and completions."""
    system, prompt, completion = lengths
    return rows_of(
        [(1, system), (2 + group, prompt), (1000 + group * samples + sample, completion)]
        for group in range(groups)
        for sample in range(samples)
    )


@pytest.fixture(scope="session")
def dense_table():
    """The table that the origin project published for H200."""
    return DENSE_TABLE


@pytest.fixture(scope="session")
def golden_cases(shared):
    path: Path = shared / "evidence" / "golden_planner" / "public.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="session")
def make_rows():
    return rows_of


@pytest.fixture(scope="session")
def make_grpo():
    return grpo


def _grow(draw, most_rows, lengths):
    """Rows grown from one another: each takes some of an earlier one's pieces and goes on with new ones."""
    pieces = []
    fresh = 1
    for _ in range(draw(st.integers(1, most_rows))):
        row = []
        if pieces and draw(st.integers(0, 5)):
            source = draw(st.sampled_from(pieces))
            row = list(source[: draw(st.integers(0, len(source)))])
            if row and draw(st.integers(0, 3)) == 0:
                segment, length = row[-1]
                row[-1] = (segment, draw(st.integers(1, length)))
        for _ in range(draw(st.integers(0 if row else 1, 2))):
            row.append((fresh, draw(lengths)))
            fresh += 1
        pieces.append(row)
    return pieces


@st.composite
def _row_sets(draw, most_rows=9):
    lengths = draw(
        st.sampled_from([st.integers(1, 5), st.sampled_from([100, 200, 700]), st.integers(1, 1500)])
    )
    return _grow(draw, most_rows, lengths)


@pytest.fixture(scope="session")
def row_sets():
    """A strategy for pieces: shared starts, exact duplicates, prefixes of one another, several roots."""
    return _row_sets


@pytest.fixture(scope="session")
def facts_sets():
    return st.sampled_from(GOLDEN_FACTS)


@pytest.fixture(scope="session")
def tables():
    few = {"token_per_rank": 1}, {"tiny_segment_per_layer": 7, "gdn_level": 1}, {"token_cp_exchange": 3}
    return st.sampled_from([None, DENSE_TABLE, *few])
