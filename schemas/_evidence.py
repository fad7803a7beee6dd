"""What the log's events carry: one record a type, each versioned; see `PAYLOADS`."""

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from schemas._analysis import CellJudged, FitAnalysed
from schemas._base import Record
from schemas._cell import Candidate, CellFacts, CellIdentity, Features, Fingerprint
from schemas._certificate import EvidenceRoot
from schemas._event import ULID_PATTERN
from schemas._manifest import FitArguments, Manifest
from schemas._memory import AdmissionRefused, AdmissionSplit, MemoryObserved, MemoryTrace
from schemas._segment import SegmentOpened
from schemas._selection import SelectionObserved, SelectionsClosed
from schemas._table import CoefficientBundle, Domain
from schemas._verdict import GateVerdict, Metrics

FailureKind = Literal[
    "exception",
    "killed",
    "timeout",
    "out_of_memory",
    "admission_refused",
    "non_finite_loss",
    "interrupted",
    "missing_corpus",
    "incomplete",
    "false_success",
    "warmup_never_quiet",
    "launch",
    "node_lost",
]


class CampaignOpened(Record):
    """The manifest, before the first sample."""

    manifest: Manifest
    manifest_digest: str


class CellStarted(Record):
    """An attempt begins: who measures what."""

    cell: str
    identity: CellIdentity
    number: int = Field(ge=1, description="the attempt's number within the cell")
    engine: str
    environment: dict[str, Any]


class CorpusShape(Record):
    """All that the ledger keeps of a user's own token groups: a digest, lengths and the tree; no token."""

    digest: str = Field(description="sha256 of the file")
    row_lengths: tuple[int, ...] = Field(min_length=1, description="tokens of each row, in caller order")
    segments: tuple[tuple[int, int, int], ...] = Field(
        min_length=1, description="parent (-1 at a root), start and end of each tree segment, parents first"
    )
    row_segments: tuple[int, ...] = Field(min_length=1, description="the segment that each row ends in")


class CellDescribed(Record):
    """What the worker built: facts, fingerprint, tree and candidates."""

    cell: str
    facts: CellFacts
    fingerprint: Fingerprint
    rows: int = Field(ge=1)
    tokens: int = Field(ge=1, description="logical tokens, all rows together")
    tree_decisions: int = Field(ge=0)
    tree_segments: int = Field(ge=1)
    candidates: tuple[Candidate, ...]
    automatic: Candidate
    automatic_version: int = Field(ge=1, description="coefficient version of the automatic selection")
    corpus: CorpusShape | None = Field(default=None, description="of a workload that is read from a file")


class SampleRecorded(Record):
    """One timed round of one candidate: forward and backward, maximum over ranks, milliseconds."""

    cell: str
    candidate: str
    role: Literal["warmup", "measured"]
    round: int = Field(ge=0)
    position: int = Field(ge=0, description="order of running within the round")
    ms: float = Field(ge=0, description="maximum over ranks")
    ms_ranks: tuple[float, ...]
    compile_events: int = Field(ge=0, description="compilations seen on any rank during the sample")
    run_delay_pct: tuple[float, ...] = Field(description="a rank's scheduler run delay over wall time")
    loss: float
    usable: bool
    reason: str | None = Field(default=None, description="why it is not usable")


class AdaptiveEnd(Record):
    """Why an attempt under an adaptive protocol ended when it did; its samples give the same answer again."""

    reason: Literal["separated", "budget"] = Field(
        description="separated: no rival could still pass the fastest; budget: every round was run"
    )
    rounds: int = Field(ge=1, description="measured rounds that were run")
    saved: int = Field(ge=0, description="rounds of the protocol that were not needed")
    fastest: str = Field(description="candidate with the least median at the end")


class CellCompleted(Record):
    """Exit status 0, every rank's end report and the expected samples are there."""

    cell: str
    usable: dict[str, int] = Field(description="usable samples by candidate")
    rank_reports: tuple[dict[str, Any], ...]
    wall_s: float
    end: AdaptiveEnd | None = Field(default=None, description="of an attempt under an adaptive protocol")


class CellFailed(Record):
    """Why an attempt ended without its samples; those it had stay."""

    cell: str
    kind: FailureKind
    message: str
    exit_codes: tuple[int | None, ...] = ()
    last_collectives: tuple[str, ...] = ()
    log_tail: str = ""
    samples: int = Field(default=0, ge=0)


class ImportedCandidate(Record):
    """Median and spread of a candidate measured elsewhere."""

    label: str
    features: Features
    median_ms: float = Field(gt=0)
    n: int = Field(ge=1)
    spread_pct: float = Field(ge=0)


class CellImported(Record):
    """A cell whose aggregates another project measured."""

    cell: str
    identity: CellIdentity
    facts: CellFacts
    fingerprint: Fingerprint
    candidates: tuple[ImportedCandidate, ...]


class CellExcluded(Record):
    """A cell taken out of the fit, with a reason that a reviewer can judge."""

    cell: str
    reason: str = Field(min_length=1, pattern=r"\S")
    reference: str = ""
    by: str


class ImportRecorded(Record):
    """Where imported evidence came from."""

    source_format: str
    file_name: str
    file_digest: str
    cells: int
    claims: dict[str, Any] = Field(default_factory=dict, description="what the source says of itself")


class FitCompleted(Record):
    """An integer table, what it stands on, and how it was judged."""

    arguments: FitArguments
    manifest_digest: str
    evidence: EvidenceRoot = Field(description="the segments that held the evidence when it was fitted")
    training_cells: tuple[str, ...]
    holdout_cells: tuple[str, ...]
    excluded_cells: tuple[str, ...]
    table_id: str
    table: dict[str, int]
    table_digest: str
    metrics: dict[str, Metrics] = Field(description="all, train, holdout")
    by_model: dict[str, Metrics]
    by_shape: dict[str, Metrics]
    by_family: dict[str, Metrics]
    hand_set: Metrics = Field(description="the version-1 score on the same cells")
    gates: tuple[GateVerdict, ...]
    passed: bool


class CertificateIssued(Record):
    """A certificate was made from the views."""

    digest: str
    fit: str
    table_digest: str
    evidence_root: str
    table_id: str


class CertificateRefused(Record):
    """A certificate was asked for and not given."""

    fit: str
    reasons: tuple[str, ...] = Field(min_length=1)


class RegisteredTable(Record):
    """A table in a registered version."""

    table_id: str
    table_digest: str
    certificate: str
    domain: Domain


class VersionRegistered(Record):
    """A coefficient version entered the model registry."""

    model: str
    version: int = Field(ge=1)
    bundle_digest: str
    tables: tuple[RegisteredTable, ...]
    memory_digest: str | None = Field(default=None, description="of the memory model in it, if any")
    bundle: CoefficientBundle | None = Field(
        default=None, description="what was registered, so that the version can be made again from the log"
    )


class ReviewRecorded(Record):
    """A person's verdict on a certificate."""

    certificate: str
    aspect: Literal["correctness", "adoption"]
    verdict: Literal["clear", "changes_requested", "approve", "hold"]
    by: str = Field(min_length=1, pattern=r"\S")
    reason: str = Field(min_length=1, pattern=r"\S")


class HoldPlaced(Record):
    """A person keeps a version, or every version with a certificate, from promotion until it is released.

    The hold is named by the id of the segment that records it.
    """

    target: Literal["version", "certificate"]
    version: int | None = Field(default=None, ge=1, description="where the target is a version")
    certificate: str | None = Field(default=None, description="digest, where the target is a certificate")
    by: str = Field(min_length=1, pattern=r"\S")
    reason: str = Field(min_length=1, pattern=r"\S")

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        given = {"version": self.version is not None, "certificate": self.certificate is not None}
        if given != {name: name == self.target for name in given}:
            raise ValueError(f"a hold on a {self.target} names that, and nothing else")
        return self


class HoldReleased(Record):
    """A hold does not bind any more."""

    hold: str = Field(pattern=ULID_PATTERN, description="segment id of the hold")
    by: str = Field(min_length=1, pattern=r"\S")
    reason: str = Field(min_length=1, pattern=r"\S")


class AliasMoved(Record):
    """An alias of the registered model points elsewhere."""

    model: str
    alias: str
    version: int | None
    previous: int | None
    by: str
    reason: str = Field(min_length=1, pattern=r"\S")
    forced: bool = False
    origin: Literal["promote", "rollback", "observed"] = "promote"


PAYLOADS: dict[str, type[Record]] = {
    "segment.opened": SegmentOpened,
    "campaign.opened": CampaignOpened,
    "cell.started": CellStarted,
    "cell.described": CellDescribed,
    "sample.recorded": SampleRecorded,
    "cell.completed": CellCompleted,
    "cell.failed": CellFailed,
    "cell.imported": CellImported,
    "cell.excluded": CellExcluded,
    "import.recorded": ImportRecorded,
    "fit.cell_judged": CellJudged,
    "fit.analysed": FitAnalysed,
    "fit.completed": FitCompleted,
    "certificate.issued": CertificateIssued,
    "certificate.refused": CertificateRefused,
    "version.registered": VersionRegistered,
    "review.recorded": ReviewRecorded,
    "hold.placed": HoldPlaced,
    "hold.released": HoldReleased,
    "alias.moved": AliasMoved,
    "memory.observed": MemoryObserved,
    "memory.trace": MemoryTrace,
    "admission.refused": AdmissionRefused,
    "admission.split": AdmissionSplit,
    "selection.observed": SelectionObserved,
    "selection.closed": SelectionsClosed,
}
