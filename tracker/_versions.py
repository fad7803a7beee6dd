"""Register certified tables as a coefficient version, and load a version from this ledger's registry."""

from collections.abc import Sequence

from planner import CoefficientVersion, load
from tracker._certificates import latest_certificate
from tracker._ledger import Ledger
from tracker.mlflow_store import tracking_uri
from tracker.registry import MODEL, make_bundle, register_bundle


def register_campaigns(ledger: Ledger, campaigns: Sequence[str]) -> int:
    """Register one version with the latest certified table of each campaign; again is the same version.

    Raises:
        NotFoundError: a campaign without a certificate.
        StoreUnavailableError: the registry does not answer.
    """
    statements = [latest_certificate(ledger, campaign).statement for campaign in campaigns]
    bundle = make_bundle(statements, description="Tables of " + ", ".join(campaigns))
    return register_bundle(ledger.log, bundle, statements)


def load_version(
    ledger: Ledger, *, version: int | None = None, alias: str | None = None
) -> CoefficientVersion:
    """The version, from the registry that this ledger registers into.

    Raises:
        NotFoundError: no such version or alias.
        CorruptionError: a digest in it does not agree.
    """
    return load(MODEL, version=version, alias=alias, tracking_uri=tracking_uri(ledger.store))
