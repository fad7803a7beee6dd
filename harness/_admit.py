"""Admission of a cell: every layout is priced before the first one runs (design, section 9)."""

from harness._cell import PreparedCell
from harness.memory._facts import model_floor
from harness.model._decoder import Decoder
from planner.memory import ForwardSize, MemoryBudgetError, Pricing


def require_memory(model: Decoder, cell: PreparedCell, limit_bytes: int | None) -> None:
    """Refuse a cell of which a layout is predicted to take more than a rank may use; None refuses nothing.

    A measured layout is never split: a cell is comparable only if all of its layouts ran whole.

    Raises:
        MemoryBudgetError: naming the largest layout.
    """
    if limit_bytes is None:
        return
    pricing = Pricing(model_floor(model))
    tokens = sum(len(row) for row in cell.rows)
    prices = {
        variant.name: pricing.required_bytes(ForwardSize(variant.layout.packed_tokens, tokens))
        for variant in cell.variants
    }
    largest = max(prices, key=lambda name: prices[name])
    if prices[largest] > limit_bytes:
        raise MemoryBudgetError(
            prices[largest],
            limit_bytes,
            f"Candidate {largest} takes so much unsplit: raise protocol.memory_limit_bytes, or give the "
            "workload fewer or shorter rows.",
        )
