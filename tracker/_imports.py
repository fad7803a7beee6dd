"""Bring evidence of another project into the log: once, whatever file says the same again."""

from schemas import InvalidInputError
from tracker._campaigns import open_campaign
from tracker._ledger import Ledger
from tracker.importers import ImportedEvidence


def import_evidence(ledger: Ledger, evidence: ImportedEvidence) -> bool:
    """Record the campaign and its cells; True if new, False if the same file was imported before.

    Raises:
        InvalidInputError: the campaign exists with another manifest or other evidence; nothing was changed.
    """
    campaign = evidence.manifest.campaign
    if campaign in ledger.campaigns():
        imported = ledger.imported_digests(campaign)
        same = ledger.manifest(campaign).digest == evidence.manifest.digest
        if same and evidence.record.file_digest in imported:
            return False
        if imported or ledger.warehouse.completed_cells(campaign):
            raise InvalidInputError(
                f"campaign {campaign!r} holds other evidence already, or under other rules; "
                "import under another name (--campaign)"
            )
    open_campaign(ledger, evidence.manifest)
    with ledger.log.open_segment(campaign, "import") as segment:
        segment.append("import.recorded", evidence.record.plain())
        for cell in evidence.cells:
            segment.append("cell.imported", cell.plain(), durable=False)
        for failure in evidence.failed:
            segment.append("cell.failed", failure.plain(), durable=False)
    return True
