"""`layoutledger doctor`: what is there, what is broken, and what to do about each."""

from pathlib import Path

from tracker.doctor._finding import Finding, State, examine
from tracker.doctor._machine import machine_checks
from tracker.doctor._server import server_checks
from tracker.doctor._software import software_checks
from tracker.doctor._store import store_checks

__all__ = ["Finding", "State", "examine_all"]


def examine_all(store: Path) -> tuple[Finding, ...]:
    """Everything that the tool stands on, from the ledger's folder to the clock.

    Nothing is changed; probe files are removed again.
    """
    return (
        *examine("store", store_checks(store)),
        *examine("tracking server", server_checks(store)),
        *examine("versions", software_checks()),
        *examine("disk", machine_checks(store)),
    )
