"""Recheck a whole ledger: the log, its Parquet files, and the mirror; nothing is changed."""

from schemas import LayoutLedgerError
from tracker._certificates import full_check
from tracker._ledger import Ledger
from tracker.log import Finding, verify_log
from tracker.mirror import verify_mirror
from tracker.registry import verify_registry


def verify_ledger(ledger: Ledger) -> list[Finding]:
    """Every drift from what was written, the log's first.

    A log that does not verify ends the check: what is projected from it cannot be judged.
    """
    findings = verify_log(ledger.log)
    if findings:
        return findings
    try:
        return [
            *ledger.warehouse.verify(),
            *verify_mirror(ledger.log),
            *verify_registry(ledger.log, check=full_check(ledger)),
        ]
    except LayoutLedgerError as error:
        return [Finding("unreadable projection", str(ledger.store), "one that can be read", str(error))]
