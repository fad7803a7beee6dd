"""Show that a routed-expert layer holds the seven buffers that its price is made of (design, section 9)."""

from collections.abc import Mapping

from planner.memory import (
    Buffer,
    ExpertFacts,
    Replay,
    TraceError,
    find_buffers,
    observed_path_buffers,
)

SUM_STAGE = "expert.fc2.sum"
FIRST_STAGE = "expert.permute"

_ALLOCATED_IN = {
    "permuted": FIRST_STAGE,
    "gate_up": "expert.fc1.sum",
    "activation": "expert.activation",
    "fc2_base": "expert.fc2",
    "fc2_adapter": "expert.fc2",
    "fc2_sum": SUM_STAGE,
    # Between the stages.
    "dispatched": "",
}


def fc2_buffers(
    shown: Replay, facts: ExpertFacts, tokens: int, granularity: int = 1
) -> list[dict[str, Buffer]]:
    """Return the seven buffers in use together at the end of each FC2 sum of a trace, layer after layer.

    Each is a range of its own, allocated since the layer's tokens were permuted; ranges in use together never
    overlap, or the replay would have refused the trace.

    Args:
        shown: the replay of a forward.
        facts: of the layers; all alike.
        tokens: packed tokens that each layer saw on this rank.
        granularity: of the trace.

    Raises:
        TraceError: no FC2 sum, or one at which a buffer is not in use; names it.
    """
    sums = shown.runs_of(SUM_STAGE)
    if not sums:
        raise TraceError(f"the trace has no stage {SUM_STAGE!r}: no routed-expert layer ran in it")
    wanted = _wanted(facts, tokens)
    found: list[dict[str, Buffer]] = []
    for point in sums:
        began = max(
            (stage.entered for stage in shown.runs_of(FIRST_STAGE) if stage.entered < point.entered),
            default=point.entered,
        )
        alive = [buffer for buffer in shown.alive_after(point.left) if buffer.born > began]
        found.append(find_buffers(alive, wanted, granularity))
    return found


def _wanted(facts: ExpertFacts, tokens: int) -> Mapping[str, tuple[int, str]]:
    sizes = observed_path_buffers(facts)
    return {name: (sizes[name] * tokens, stage) for name, stage in _ALLOCATED_IN.items()}
