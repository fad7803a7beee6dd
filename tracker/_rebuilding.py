"""Everything but the log made again from the log: views, certificate files, runs, versions, aliases."""

from dataclasses import dataclass

from schemas import CorruptionError
from tracker._certificates import CERTIFICATES, export_certificate
from tracker._ledger import Ledger
from tracker.certificate import certificate_name, write_certificate
from tracker.mirror import PushReport, push
from tracker.registry import RestoredRegistry, restore_registry
from tracker.warehouse import Refreshed


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What was made: the warehouse, names of certificate files, runs, versions and aliases."""

    warehouse: Refreshed
    certificates: tuple[str, ...]
    mirrored: PushReport
    registry: RestoredRegistry


def rebuild_ledger(ledger: Ledger) -> Rebuilt:
    """Make every projection again; what stands already and agrees stays as it is, and nothing is recorded.

    Raises:
        CorruptionError: the log does not verify, or a certificate or version comes out otherwise than it
            was recorded.
        NotFoundError: a registered version stands on a certificate of which the log lacks the evidence.
        StoreUnavailableError: the folder cannot be written, or the tracking store does not answer.
    """
    return Rebuilt(
        ledger.warehouse.rebuild(),
        tuple(_restore_certificates(ledger)),
        push(ledger.log),
        restore_registry(ledger.log, lambda digest: export_certificate(ledger, digest)),
    )


def _restore_certificates(ledger: Ledger) -> list[str]:
    """Write the file of each issued certificate that has none; their names."""
    folder, written = ledger.store / CERTIFICATES, list[str]()
    for campaign, digest, _ in ledger.issued_certificates(None):
        if (folder / certificate_name(campaign, digest)).exists():
            continue
        statement = export_certificate(ledger, digest)
        if statement.digest != digest:
            raise CorruptionError(
                f"campaign {campaign}: its certificate {digest} comes out as {statement.digest}; "
                "run `layoutledger verify`"
            )
        written.append(write_certificate(folder, statement).name)
    return written
