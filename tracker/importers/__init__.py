"""Evidence that other projects measured, brought into the ledger's words."""

from tracker.importers._art_certificate import ImportedEvidence, read_art_certificate

__all__ = ["ImportedEvidence", "read_art_certificate"]
