"""The vocabulary: events, manifest, evidence, table, certificate; canonical JSON and digests."""

from schemas._canonical import canonical_json, digest_bytes, digest_file, digest_json
from schemas._errors import (
    CampaignFailedError,
    CorruptionError,
    GateFailedError,
    IncompleteEvidenceError,
    InvalidInputError,
    LayoutLedgerError,
    MeasurementError,
    NotFoundError,
    PromotionRefusedError,
    StoreUnavailableError,
)

__all__ = [
    "CampaignFailedError",
    "CorruptionError",
    "GateFailedError",
    "IncompleteEvidenceError",
    "InvalidInputError",
    "LayoutLedgerError",
    "MeasurementError",
    "NotFoundError",
    "PromotionRefusedError",
    "StoreUnavailableError",
    "canonical_json",
    "digest_bytes",
    "digest_file",
    "digest_json",
]
