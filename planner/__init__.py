"""Prefix trees, layouts, their integer cost and the search for the cheapest one (design, section 6).

What loading needs is imported on first use: a trainer that has its version pays for planning alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from planner._candidates import Candidate, mandatory_candidates
from planner._domain import DeviceClass, Domain, ModelGeometry, ParallelShape, RuntimeFacts, memory_bucket
from planner._facts import SEGMENT_THRESHOLDS, LayoutFeatures, ScoringFacts
from planner._layout import Layout, LayoutSegment, layout_features, plan_layout, score_layout, score_layouts
from planner._planner import LayoutCache, Plan, Planner
from planner._rerank import Priced, Reranking, rerank_layouts, shortlist_layouts
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
from planner._terms import TABLE_WORK_PER_US, TERMS, WORK_PER_US, Quantity, Term
from planner._tree import PrefixTree, Segment, build_prefix_tree
from planner._version import CoefficientVersion, OutsideDomainWarning, Scoring, Table

if TYPE_CHECKING:
    from planner._config import read_model_config
    from planner._load import OfflineWarning, load
    from planner._registry import BUNDLE_DIGEST_TAG

_LOADED_LATE = {
    "BUNDLE_DIGEST_TAG": "planner._registry",
    "OfflineWarning": "planner._load",
    "load": "planner._load",
    "read_model_config": "planner._config",
}


def __getattr__(name: str) -> Any:
    if name not in _LOADED_LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_LOADED_LATE[name]), name)
    globals()[name] = value
    return value


__all__ = [
    "BUNDLE_DIGEST_TAG",
    "SEGMENT_THRESHOLDS",
    "TABLE_WORK_PER_US",
    "TERMS",
    "WORK_PER_US",
    "Candidate",
    "CoefficientVersion",
    "Coefficients",
    "DeviceClass",
    "Domain",
    "Layout",
    "LayoutCache",
    "LayoutFeatures",
    "LayoutSegment",
    "ModelGeometry",
    "OfflineWarning",
    "OutsideDomainWarning",
    "ParallelShape",
    "Plan",
    "Planner",
    "PrefixTree",
    "Priced",
    "Quantity",
    "Reranking",
    "RuntimeFacts",
    "Score",
    "Scoring",
    "ScoringFacts",
    "Segment",
    "Selection",
    "Table",
    "Term",
    "build_prefix_tree",
    "check_coefficients",
    "hand_set_contributions",
    "hand_set_work",
    "layout_features",
    "load",
    "mandatory_candidates",
    "memory_bucket",
    "plan_layout",
    "read_model_config",
    "rerank_layouts",
    "score_features",
    "score_layout",
    "score_layouts",
    "select_layout",
    "shortlist_layouts",
    "term_contributions",
]
