"""Prefix trees, layouts, their integer cost and the search for the cheapest one (design, section 6)."""

from planner._candidates import Candidate, mandatory_candidates
from planner._facts import SEGMENT_THRESHOLDS, LayoutFeatures, ScoringFacts
from planner._layout import Layout, LayoutSegment, layout_features, plan_layout, score_layout
from planner._score import (
    Coefficients,
    Score,
    check_coefficients,
    hand_set_contributions,
    hand_set_work,
    score_features,
    term_contributions,
)
from planner._select import Selection, select_layout
from planner._terms import TERMS, WORK_PER_US, Quantity, Term
from planner._tree import PrefixTree, Segment, build_prefix_tree

__all__ = [
    "SEGMENT_THRESHOLDS",
    "TERMS",
    "WORK_PER_US",
    "Candidate",
    "Coefficients",
    "Layout",
    "LayoutFeatures",
    "LayoutSegment",
    "PrefixTree",
    "Quantity",
    "Score",
    "ScoringFacts",
    "Segment",
    "Selection",
    "Term",
    "build_prefix_tree",
    "check_coefficients",
    "hand_set_contributions",
    "hand_set_work",
    "layout_features",
    "mandatory_candidates",
    "plan_layout",
    "score_features",
    "score_layout",
    "select_layout",
    "term_contributions",
]
