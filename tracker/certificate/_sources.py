"""What a certificate check asks of a ledger."""

from collections.abc import Sequence
from typing import Protocol

from schemas import CertifiedCell, CertifiedExclusion, EvidenceRoot, FitCompleted, Manifest


class CertificateSource(Protocol):
    """A verified log and its views; every method raises `NotFoundError` for what is not there."""

    def manifest(self, campaign: str) -> Manifest:
        """The registered manifest."""
        ...

    def opened(self, campaign: str) -> str:
        """When the campaign was opened: RFC 3339, UTC."""
        ...

    def first_sample(self, campaign: str) -> str | None:
        """When its first sample was recorded; None where all evidence is imported."""
        ...

    def fit(self, campaign: str, fit: str) -> FitCompleted:
        """The fit of that segment id."""
        ...

    def evidence(self, segments: Sequence[str]) -> EvidenceRoot:
        """Merkle root over those segments' roots, ascending by id."""
        ...

    def certified_cells(self, campaign: str, segments: Sequence[str]) -> tuple[CertifiedCell, ...]:
        """The retained cells that those segments show, in key order."""
        ...

    def exclusions(self, campaign: str, segments: Sequence[str]) -> tuple[CertifiedExclusion, ...]:
        """The exclusions that those segments show, in key order."""
        ...
