"""The certificate: what binds a table to its evidence, wrapped as an in-toto Statement v1."""

from typing import Literal, Self

from pydantic import Field, model_validator

from schemas._base import Record
from schemas._canonical import digest_json
from schemas._cell import CellFacts, CellIdentity, Features, Fingerprint
from schemas._manifest import FitArguments, Gates, HoldoutRule
from schemas._table import Domain
from schemas._verdict import GateVerdict, Metrics

CERTIFICATE_SCHEMA = "layoutledger.certificate.v1"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:layoutledger:certificate:v1"


class CertifiedCandidate(Record):
    """A candidate's features and what was measured of it."""

    label: str
    decisions: tuple[int, ...] | None = None
    features: Features
    median_ms: float = Field(gt=0)
    n: int = Field(ge=1)
    spread_pct: float = Field(ge=0)


class CertifiedCell(Record):
    """A retained cell with its candidates in label order."""

    cell: str
    identity: CellIdentity
    facts: CellFacts
    fingerprint: Fingerprint
    held_out: bool
    candidates: tuple[CertifiedCandidate, ...] = Field(min_length=1)


class CertifiedExclusion(Record):
    """A cell taken out, and why."""

    cell: str
    reason: str
    reference: str = ""
    by: str = ""


class EvidenceRoot(Record):
    """The Merkle root (RFC 6962) over the roots of the segments that the certificate stands on."""

    root: str
    segments: tuple[str, ...] = Field(min_length=1, description="segment ids, ascending")
    events: int = Field(ge=1)


class Certificate(Record):
    """The predicate: everything needed to recompute the table from the evidence."""

    schema_name: Literal["layoutledger.certificate.v1"] = Field(default=CERTIFICATE_SCHEMA, alias="schema")
    campaign: str
    table_id: str
    fit: str = Field(description="segment id of the fit")
    manifest_digest: str
    expected_cells: tuple[str, ...]
    fit_arguments: FitArguments
    holdout: HoldoutRule
    required_samples: int
    exclusions: tuple[CertifiedExclusion, ...]
    table: dict[str, int] = Field(description="integer milli-microseconds per term unit")
    table_digest: str
    metrics: dict[str, Metrics]
    by_model: dict[str, Metrics]
    by_shape: dict[str, Metrics]
    by_family: dict[str, Metrics]
    hand_set: Metrics
    gates: Gates
    verdicts: tuple[GateVerdict, ...]
    domain: Domain
    evidence: EvidenceRoot
    cells: tuple[CertifiedCell, ...] = Field(min_length=1)


class StatementSubject(Record):
    """What a statement is about, by digest."""

    name: str
    digest: dict[str, str]


class Statement(Record):
    """in-toto Statement v1 over a certificate; subjects: the table's digest and the evidence root."""

    type_name: Literal["https://in-toto.io/Statement/v1"] = Field(default=STATEMENT_TYPE, alias="_type")
    subject: tuple[StatementSubject, ...]
    predicate_type: Literal["urn:layoutledger:certificate:v1"] = Field(
        default=PREDICATE_TYPE, alias="predicateType"
    )
    predicate: Certificate

    @model_validator(mode="after")
    def _subjects_agree(self) -> Self:
        expected = statement_subjects(self.predicate)
        if self.subject != expected:
            raise ValueError("the subjects are not the certificate's table digest and evidence root")
        return self

    @property
    def digest(self) -> str:
        """sha256 of the canonical statement: the certificate's digest."""
        return digest_json(self.plain())


def statement_subjects(certificate: Certificate) -> tuple[StatementSubject, ...]:
    """The two subjects of a certificate's statement."""
    return (
        StatementSubject(name=f"table:{certificate.table_id}", digest={"sha256": certificate.table_digest}),
        StatementSubject(
            name=f"evidence:{certificate.campaign}", digest={"sha256": certificate.evidence.root}
        ),
    )


def wrap_certificate(certificate: Certificate) -> Statement:
    """The certificate as an in-toto Statement."""
    return Statement(subject=statement_subjects(certificate), predicate=certificate)
