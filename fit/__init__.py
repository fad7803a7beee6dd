"""From measured cells to an integer cost table and its verdicts (design, section 8)."""

from fit._admit import CellEvidence, check_evidence
from fit._cells import FitCandidate, FitCell
from fit._gates import QualifiedMetrics, gate_verdicts, qualify
from fit._judge import (
    GROUPS,
    CellVerdict,
    group_cells,
    judge,
    judge_cells,
    judge_groups,
    judge_hand_set,
)
from fit._methods import METHODS, FittedTable, fit_table
from fit._noise import median_error_pct

__all__ = [
    "GROUPS",
    "METHODS",
    "CellEvidence",
    "CellVerdict",
    "FitCandidate",
    "FitCell",
    "FittedTable",
    "QualifiedMetrics",
    "check_evidence",
    "fit_table",
    "gate_verdicts",
    "group_cells",
    "judge",
    "judge_cells",
    "judge_groups",
    "judge_hand_set",
    "median_error_pct",
    "qualify",
]
