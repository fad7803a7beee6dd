"""From measured cells to an integer cost table and its verdicts (design, section 8)."""

from fit._admit import CellEvidence, check_evidence
from fit._analysis import Analysis, Unseen, analyse
from fit._cells import FitCandidate, FitCell
from fit._compare import LEFT_OUT, LeftOut, MethodReport, ablate_terms, compare
from fit._drift import (
    CellMove,
    Drift,
    Move,
    SelectionChange,
    changed_selections,
    changed_winners,
    compare_times,
)
from fit._gates import QualifiedMetrics, gate_verdicts, qualify
from fit._intervals import Interval
from fit._judge import (
    GROUPS,
    CellVerdict,
    group_cells,
    judge,
    judge_cells,
    judge_groups,
    judge_hand_set,
)
from fit._methods import METHODS, FittedTable, check_arguments, fit_table
from fit._pairs import difference_noise_pct
from fit._production import Alternative, LayoutRatio, PlaceDrift, Seen, alternatives, place_drifts
from fit._selector import (
    Prospect,
    RegretSummary,
    SearchedCell,
    SelectorVerdict,
    check_selector,
    prospective_check,
)
from fit._survival import Survival, selection_survival

__all__ = [
    "GROUPS",
    "LEFT_OUT",
    "METHODS",
    "Alternative",
    "Analysis",
    "CellEvidence",
    "CellMove",
    "CellVerdict",
    "Drift",
    "FitCandidate",
    "FitCell",
    "FittedTable",
    "Interval",
    "LayoutRatio",
    "LeftOut",
    "MethodReport",
    "Move",
    "PlaceDrift",
    "Prospect",
    "QualifiedMetrics",
    "RegretSummary",
    "SearchedCell",
    "Seen",
    "SelectionChange",
    "SelectorVerdict",
    "Survival",
    "Unseen",
    "ablate_terms",
    "alternatives",
    "analyse",
    "changed_selections",
    "changed_winners",
    "check_arguments",
    "check_evidence",
    "check_selector",
    "compare",
    "compare_times",
    "difference_noise_pct",
    "fit_table",
    "gate_verdicts",
    "group_cells",
    "judge",
    "judge_cells",
    "judge_groups",
    "judge_hand_set",
    "place_drifts",
    "prospective_check",
    "qualify",
    "selection_survival",
]
