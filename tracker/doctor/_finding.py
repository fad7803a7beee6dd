"""What an examination finds, and what to do about it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from schemas import LayoutLedgerError

State = Literal["ok", "note", "warning", "broken"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Args:
        part: what: store, tracking server, versions, torch, devices, disk, permissions, clock.
        state: `note` needs nothing, `warning` will cost something, `broken` keeps a verb from working.
        found: what is there, with its place.
        remedy: what to do; empty where nothing is to be done.
    """

    part: str
    state: State
    found: str
    remedy: str = ""


def examine(part: str, checks: Iterable[Callable[[], Iterator[Finding]]]) -> tuple[Finding, ...]:
    """Run checks one after another; one that fails by itself is a finding too, and the others go on."""
    findings: list[Finding] = []
    for check in checks:
        try:
            findings.extend(check())
        except LayoutLedgerError as error:
            findings.append(Finding(part, "broken", str(error), "do what it says, then run the doctor again"))
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            found = f"{where}{error.strerror or error}"
            findings.append(Finding(part, "broken", found, "make it readable, then run the doctor again"))
    return tuple(findings)
