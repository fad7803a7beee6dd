"""Batches of rows: of given segments, grown from one another by a seed or by hypothesis."""

import random

import numpy as np
from hypothesis import strategies as st

from planner import TERMS, ScoringFacts, build_prefix_tree


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
def row_sets(draw, most_rows=9):
    lengths = draw(
        st.sampled_from([st.integers(1, 5), st.sampled_from([100, 200, 700]), st.integers(1, 1500)])
    )
    return _grow(draw, most_rows, lengths)


def random_rows(seed, most_decisions, rows=9):
    """Rows grown from one another by a seed; few enough decisions to try every layout."""
    found = random.Random(seed)
    short = seed % 3 == 0
    while True:
        pieces, fresh = [], 1
        for _ in range(found.randint(2, rows)):
            source = found.choice(pieces) if pieces and found.random() < 0.9 else []
            row = list(source[: found.randint(0, len(source))])
            for _ in range(found.randint(0 if row else 1, 2)):
                row.append((fresh, found.randint(1, 4) if short else found.choice([1, 64, 100, 300, 900])))
                fresh += 1
            pieces.append(row)
        arrays = rows_of(pieces)
        if 0 < len(build_prefix_tree(arrays).decisions) <= most_decisions:
            return arrays


def random_price(seed):
    """Facts and a table whose floors, tiny segments and levels weigh about the same."""
    found = random.Random(seed)
    facts = ScoringFacts(
        found.randint(1, 7),
        found.randint(1, 5),
        found.randint(1, 3),
        found.randint(0, 1),
        found.random() < 0.5,
    )
    if seed % 4 == 0:
        return facts, None
    names = found.sample(list(TERMS), found.randint(1, len(TERMS)))
    return facts, {name: found.choice([0, 1, 2, found.randint(0, 2000)]) for name in names}
