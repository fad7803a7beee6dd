"""How a table was judged: metrics over cells, and gates."""

from pydantic import Field

from schemas._base import Record


class Metrics(Record):
    """Regret and ordering of an integer table over a set of cells (names as in the origin certificate)."""

    cells: int = Field(ge=0)
    ordered_pairs: int = Field(ge=0, description="within-cell pairs separated beyond noise")
    pairwise_accuracy: float | None = Field(description="share of those ordered right; null without pairs")
    median_regret_pct: float | None
    p95_regret_pct: float | None
    max_regret_pct: float | None
    clear_misses: tuple[str, ...] = ()


class GateVerdict(Record):
    """One named limit, judged on one group of held-out cells."""

    gate: str
    group: str = Field(description="`pooled`, or `model=...`, `shape=...`, `family=...`")
    value: float | None = Field(description="measured value; null when the group has nothing to judge")
    limit: float
    passed: bool
    detail: str = ""
