"""Prefix trees, layouts, their integer cost and the search for the cheapest one (design, section 6)."""

from planner._facts import SEGMENT_THRESHOLDS, LayoutFeatures, ScoringFacts
from planner._score import (
    Coefficients,
    Score,
    check_coefficients,
    hand_set_contributions,
    hand_set_work,
    score_features,
    term_contributions,
)
from planner._terms import TERMS, WORK_PER_US, Quantity, Term

__all__ = [
    "SEGMENT_THRESHOLDS",
    "TERMS",
    "WORK_PER_US",
    "Coefficients",
    "LayoutFeatures",
    "Quantity",
    "Score",
    "ScoringFacts",
    "Term",
    "check_coefficients",
    "hand_set_contributions",
    "hand_set_work",
    "score_features",
    "term_contributions",
]
