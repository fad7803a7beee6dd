"""What a fit records beside its table: every cell as the fit saw it, and how well the table is known.

A fit's run and report are made from its own segment alone, so what they show has to stand there.
"""

from typing import Literal

from pydantic import Field

from schemas._base import Record
from schemas._cell import CellIdentity, Fingerprint
from schemas._certificate import CertifiedExclusion
from schemas._manifest import Gates, HoldoutRule, Protocol
from schemas._table import Domain
from schemas._verdict import Metrics

CellState = Literal["completed", "imported", "excluded", "failed", "running", "missing"]


class JudgedCandidate(Record):
    """A candidate: what was measured, and what the table says of it."""

    label: str
    median_us: int = Field(ge=0, description="median of the usable samples, microseconds")
    n: int = Field(ge=0, description="how many usable samples")
    spread_pct: float = Field(ge=0, description="their range over the median, percent")
    predicted_us: int | None = Field(
        default=None,
        ge=0,
        description="the table's price, microseconds; a part that all candidates share may be missing",
    )


class AttemptFailure(Record):
    """An attempt that failed, as its own segment says at more length."""

    attempt: str = Field(description="segment id of the attempt")
    number: int | None = Field(default=None, description="its number within the cell")
    kind: str
    message: str
    log_tail: str = Field(default="", description="the end of the worker's log, at most its last 4,000 signs")
    resolved: bool = Field(description="whether a later attempt of the cell completed")


class SelectionJudged(Record):
    """What the table selects in a cell, and what that costs beside the fastest candidate."""

    selected: str
    best: str = Field(description="the fastest candidate")
    regret_pct: float
    noise_pct: float | None = Field(
        description="two standard errors of the difference of the two medians; null where unknown"
    )
    unseen: str | None = Field(description="selected by a table that had not seen the cell, if one could be")
    unseen_regret_pct: float | None
    hand_set: str = Field(description="selected by version 1, the hand-set score")
    hand_set_regret_pct: float
    terms: dict[str, int] = Field(description="the price of the selection by term, microseconds")


class CellJudged(Record):
    """A cell of the campaign as the fit saw it: what became of it, what was measured, what is selected."""

    cell: str
    state: CellState
    expected: bool = Field(description="whether the manifest has it")
    held_out: bool
    attempts: int = Field(ge=0)
    identity: CellIdentity | None = None
    fingerprint: Fingerprint | None = Field(default=None, description="of the attempt that counts")
    usable: int = Field(default=0, ge=0, description="usable samples of the attempt that counts")
    unusable: dict[str, int] = Field(
        default_factory=dict, description="its other samples by reason, warm-up among them"
    )
    stalls: int | None = Field(
        default=None,
        ge=0,
        description="usable samples far above their candidate's median; null where not told",
    )
    drift_pct: float | None = Field(
        default=None, description="change from the first round to the last, percent; null where not told"
    )
    drifting: bool | None = Field(
        default=None, description="whether that is more than chance and a tie; null where not told"
    )
    failures: tuple[AttemptFailure, ...] = ()
    exclusion: CertifiedExclusion | None = None
    candidates: tuple[JudgedCandidate, ...] = ()
    selection: SelectionJudged | None = Field(default=None, description="null where the cell is not retained")


class CoefficientInterval(Record):
    """A coefficient and the range it takes in 95% of the resampled fits, milli-microseconds per unit."""

    value: int = Field(ge=0)
    low: int = Field(ge=0)
    high: int = Field(ge=0)


class Ablation(Record):
    """How tables do on cells that they have not seen when something is withheld from them."""

    kind: Literal["nothing", "term", "shape", "model", "family"]
    name: str = Field(default="", description="of the term or group; empty where nothing more is withheld")
    metrics: Metrics = Field(description="over the judged cells: all of them, or those of the group")
    summed_regret_pct: float


class FitAnalysed(Record):
    """How well the table is known: intervals, ablations, and the campaign that it comes from."""

    title: str
    opened: str = Field(description="when the manifest was registered: RFC 3339, UTC")
    first_sample: str | None = Field(description="when the first sample was recorded; null where imported")
    protocol: Protocol
    holdout: HoldoutRule
    gates: Gates
    domain: Domain = Field(description="what the retained cells were measured on")
    certificate: str | None = Field(
        description="digest of the certificate that this fit has; null where a gate failed"
    )
    resamples: int = Field(ge=0, description="fits on resampled training cells behind the intervals")
    folds: int = Field(ge=0, description="parts into which the training cells were divided, one unseen a fit")
    intervals: dict[str, CoefficientInterval]
    ablations: tuple[Ablation, ...]
