"""Memory admission: what a forward takes, whether it fits, how it is split if not (design, section 9).

Whole numbers throughout; nothing here knows a tensor. `harness` measures and runs, `tracker` keeps what was
seen and gives profiles back.
"""

from planner.memory._admission import Admission, LayoutChoice, Rung, Subforward, admit
from planner.memory._agree import AllReduce, agree
from planner.memory._errors import MemoryBudgetError, PartialExecutionError, TraceError
from planner.memory._execute import execute, run_subforwards
from planner.memory._experts import (
    KNOWN_MODULES,
    ExpertFacts,
    expert_bytes_per_token,
    fc2_floor_bytes,
    observed_path_buffers,
    observed_path_bytes,
    observed_path_doubts,
)
from planner.memory._ladder import TreeOrder, cut, ladder, lower_bound_bytes
from planner.memory._learned import LearnedMemory
from planner.memory._pricing import CURRENT_FORMULA, Formula, ModelFloor, Price, Pricing, combined_bytes
from planner.memory._profile import ForwardSize, MemoryProfile, Observation, Signature, learn_profile
from planner.memory._replay import Buffer, Replay, Stage, find_buffers, replay
from planner.memory._trace import AllocatorTrace, TraceStep, seal_trace
from planner.memory._width import widest_forward

__all__ = [
    "CURRENT_FORMULA",
    "KNOWN_MODULES",
    "Admission",
    "AllReduce",
    "AllocatorTrace",
    "Buffer",
    "ExpertFacts",
    "Formula",
    "ForwardSize",
    "LayoutChoice",
    "LearnedMemory",
    "MemoryBudgetError",
    "MemoryProfile",
    "ModelFloor",
    "Observation",
    "PartialExecutionError",
    "Price",
    "Pricing",
    "Replay",
    "Rung",
    "Signature",
    "Stage",
    "Subforward",
    "TraceError",
    "TraceStep",
    "TreeOrder",
    "admit",
    "agree",
    "combined_bytes",
    "cut",
    "execute",
    "expert_bytes_per_token",
    "fc2_floor_bytes",
    "find_buffers",
    "ladder",
    "learn_profile",
    "lower_bound_bytes",
    "observed_path_buffers",
    "observed_path_bytes",
    "observed_path_doubts",
    "replay",
    "run_subforwards",
    "seal_trace",
    "widest_forward",
]
