"""Prefix trees of users' own rows as the ledger keeps them: lengths and shared segments, without a token."""

import json
from collections.abc import Mapping

from planner import PrefixTree
from schemas import CorpusShape
from tracker._ledger import Ledger

_SHAPES = """
SELECT events.campaign, events.cell, CAST(events.data -> '$.corpus' AS VARCHAR) AS corpus
FROM events
JOIN attempts ON attempts.campaign = events.campaign AND attempts.cell = events.cell
    AND attempts.attempt = events.segment AND attempts.counts
WHERE events.type = 'cell.described' AND json_type(events.data, '$.corpus') = 'OBJECT'
"""


def recorded_trees(ledger: Ledger, campaign: str) -> Mapping[str, PrefixTree]:
    """The tree of each cell whose rows came from a file, from the attempt that counts.

    The corpus itself need not be there: it may have moved, or lie on another machine.
    """
    rows = ledger.warehouse.query(_SHAPES).records()
    return {
        row["cell"]: _tree(CorpusShape.parse(json.loads(row["corpus"]), where=f"corpus of {row['cell']}"))
        for row in rows
        if row["campaign"] == campaign
    }


def _tree(shape: CorpusShape) -> PrefixTree:
    return PrefixTree(
        [parent for parent, _, _ in shape.segments],
        [end for _, _, end in shape.segments],
        list(shape.row_segments),
        list(shape.row_lengths),
    )
