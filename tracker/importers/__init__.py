"""Evidence that other projects measured, brought into the ledger's words."""

from tracker.importers._art_certificate import read_art_certificate
from tracker.importers._art_jsonl import ImportTerms, read_art_jsonl
from tracker.importers._evidence import ImportedEvidence

__all__ = ["ImportTerms", "ImportedEvidence", "read_art_certificate", "read_art_jsonl"]
