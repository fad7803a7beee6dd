"""The campaign's manifest: cells, protocol, holdout, fit arguments and gates, all fixed before a sample."""

from collections import Counter
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from schemas._base import Record
from schemas._canonical import digest_json
from schemas._cell import CellIdentity
from schemas._number import NO_TRUTH, Integer, Number

MANIFEST_SCHEMA = "layoutledger.manifest.v1"


class AdaptiveStop(Record):
    """Stop an attempt early, once the rounds left could hardly change which candidate is fastest."""

    tie_pct: Number = Field(
        default=3.0,
        gt=0,
        le=50,
        description="a candidate within this of the fastest is as good",
    )
    error_pct: Number = Field(
        default=5.0,
        gt=0,
        le=20,
        description="the chance, an attempt, that the rounds left would put another ahead by more than a tie",
    )


class Protocol(Record):
    """How each cell is measured."""

    rounds: Integer = Field(default=7, ge=1, description="measured rounds, each candidate once a round")
    required: Integer = Field(default=5, ge=1, description="usable samples that each candidate must reach")
    extra_rounds: Integer = Field(default=0, ge=0, description="rounds that may be added to reach `required`")
    warmup_rounds: Integer = Field(default=1, ge=1, description="least warm-up rounds")
    warmup_limit: Integer = Field(default=8, ge=1, description="most warm-up rounds before the cell fails")
    threads_per_rank: Integer = Field(default=1, ge=1)
    disturbed_pct: Number = Field(
        default=20.0, gt=0, description="run delay over wall time above which a sample is not usable"
    )
    timeout_s: Number = Field(default=600.0, gt=0, description="a cell's limit; then its processes are ended")
    seed: Integer = Field(default=0, ge=0)
    adaptive: AdaptiveStop | None = Field(
        default=None,
        description="a rule by which fewer than `rounds` may do, never fewer than `required`",
    )
    memory_limit_bytes: Annotated[int, Field(ge=1), NO_TRUTH] | None = Field(
        default=None, description="a cell whose forward is priced above this is refused before it runs"
    )

    @model_serializer(mode="wrap")
    def _without_what_is_not_asked(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # A manifest registered before these rules existed keeps its digest.
        later = ("adaptive", "memory_limit_bytes")
        return {name: value for name, value in plain(self).items() if name not in later or value is not None}


class HoldoutRule(Record):
    """Which cells are kept from the fit: a substring of the key, or the odd groups of a workload."""

    contains: tuple[str, ...] = ()
    odd_groups_of: tuple[str, ...] = ()

    def holds_out(self, key: str) -> bool:
        """Whether the cell of this key is held out."""
        if any(part in key for part in self.contains):
            return True
        group = key.rsplit("|g", 1)
        odd = len(group) == 2 and group[1].isdigit() and int(group[1]) % 2 == 1
        return odd and any(name in key for name in self.odd_groups_of)


class Gates(Record):
    """Limits that the integer table must keep on the held-out cells, in percent."""

    pairwise_min_pct: Number = 90.0
    separation_pct: Number = Field(default=3.0, description="pairs closer than this are a tie")
    regret_median_max_pct: Number = 2.0
    regret_p95_max_pct: Number = 5.0
    regret_max_pct: Number = 10.0
    clear_winner_pct: Number = 5.0


class FitArguments(Record):
    """Which method over which terms."""

    method: str = Field(default="rank-margin", min_length=1)
    terms: tuple[str, ...] = Field(min_length=1)


class WorkloadSpec(Record):
    """How the token rows of a workload are generated, or which file they are read from."""

    kind: Literal["grpo", "heterogeneous", "caterpillar", "unique", "file", "imported"]
    parameters: dict[str, Any] = Field(default_factory=dict)


class ModelSpec(Record):
    """Which model a cell runs."""

    preset: str
    parameters: dict[str, Any] = Field(default_factory=dict, description="overrides of the preset's config")


class CellPlan(Record):
    """One expected cell and what is needed to measure it."""

    identity: CellIdentity
    workload: WorkloadSpec
    model: ModelSpec
    dtype: str = "float32"
    device: Literal["cpu", "cuda", "recorded"] = "cpu"
    layouts: tuple[tuple[Integer, ...], ...] = Field(
        default=(), description="shared decisions of layouts to time beside the mandatory ones"
    )

    @model_serializer(mode="wrap")
    def _without_what_is_not_asked(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # A manifest registered before the field existed keeps its digest.
        fields = plain(self)
        return fields if self.layouts else {k: v for k, v in fields.items() if k != "layouts"}


class Manifest(Record):
    """A campaign's expected cells and rules; its digest binds them."""

    schema_name: Literal["layoutledger.manifest.v1"] = Field(default=MANIFEST_SCHEMA, alias="schema")
    campaign: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")
    title: str = Field(default="", max_length=400)
    table_id: str = Field(min_length=1, max_length=120)
    cells: tuple[CellPlan, ...] = Field(min_length=1)
    protocol: Protocol = Field(default_factory=Protocol)
    holdout: HoldoutRule = Field(default_factory=HoldoutRule)
    fit: FitArguments
    gates: Gates = Field(default_factory=Gates)

    @model_validator(mode="after")
    def _distinct_cells(self) -> Self:
        counts = Counter(plan.identity.key for plan in self.cells)
        doubled = sorted(key for key, count in counts.items() if count > 1)
        if doubled:
            raise ValueError(f"cells appear more than once: {', '.join(doubled)}; each cell may stand once")
        return self

    @property
    def keys(self) -> tuple[str, ...]:
        """Every expected cell's key, in manifest order."""
        return tuple(plan.identity.key for plan in self.cells)

    @property
    def digest(self) -> str:
        """sha256 of the canonical manifest."""
        return digest_json(self.plain())

    def holdout_keys(self) -> tuple[str, ...]:
        """Keys of the held-out cells, in manifest order."""
        return tuple(key for key in self.keys if self.holdout.holds_out(key))
