"""Cells measured in two campaigns, matched by key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fit import (
    Drift,
    FitCell,
    SelectionChange,
    changed_selections,
    changed_winners,
    compare_times,
    fit_table,
)
from schemas import CertifiedCell, IncompleteEvidenceError, InvalidInputError, Manifest
from tracker._fitting import fit_cells
from tracker._ledger import Ledger


@dataclass(frozen=True, slots=True)
class FingerprintChange:
    """One part of the execution fingerprint that differs: seeing what it does is what a comparison is for.

    Args:
        part: `source`, `workload`, `device`, `device_class`, `dtype` or `geometry`.
        before: what it was.
        after: what it is.
        cells: keys of the cells in which it differs so.
    """

    part: str
    before: str
    after: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CampaignDrift:
    """What two campaigns say of the same cells.

    Args:
        before: the earlier campaign's name.
        after: the later one's.
        times: what moved.
        only_before: keys of the cells that the later campaign lacks.
        only_after: keys of the cells that the earlier one lacks.
        fingerprints: what differs in the circumstances.
        winners: cells whose fastest candidate is another one.
        selections: cells in which a table fitted on the earlier evidence and one fitted on the later take
            different candidates; None where one could not be fitted.
        unfitted: why it could not, empty where it could.
    """

    before: str
    after: str
    times: Drift
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    fingerprints: tuple[FingerprintChange, ...]
    winners: tuple[SelectionChange, ...]
    selections: tuple[SelectionChange, ...] | None
    unfitted: str


def compare_campaigns(ledger: Ledger, before: str, after: str) -> CampaignDrift:
    """Compare the retained cells of two campaigns; records nothing.

    Args:
        ledger: that holds both.
        before: the earlier campaign.
        after: the later one.

    Raises:
        NotFoundError: no such campaign.
        InvalidInputError: one campaign twice.
        IncompleteEvidenceError: no cell in common, or a candidate without a usable sample.
    """
    if before == after:
        raise InvalidInputError(
            f"{before!r} twice: drift compares two campaigns; run the same cells under another name"
        )
    old = {cell.cell: cell for cell in ledger.certified_cells(before)}
    new = {cell.cell: cell for cell in ledger.certified_cells(after)}
    common = [key for key in new if key in old]
    earlier, later = fit_cells([old[key] for key in common]), fit_cells([new[key] for key in common])
    selections, unfitted = _refitted(ledger.manifest(before), ledger.manifest(after), earlier, later)
    return CampaignDrift(
        before=before,
        after=after,
        times=compare_times(earlier, later),
        only_before=tuple(key for key in old if key not in new),
        only_after=tuple(key for key in new if key not in old),
        fingerprints=_fingerprints(old, new, common),
        winners=changed_winners(earlier, later),
        selections=selections,
        unfitted=unfitted,
    )


def _refitted(
    before: Manifest, after: Manifest, earlier: Sequence[FitCell], later: Sequence[FitCell]
) -> tuple[tuple[SelectionChange, ...] | None, str]:
    """A table of each campaign's training cells, as registered, over the cells that both have."""
    try:
        old, new = (
            fit_table([cell for cell in cells if not plan.holdout.holds_out(cell.key)], plan.fit).coefficients
            for plan, cells in ((before, earlier), (after, later))
        )
    except IncompleteEvidenceError as error:
        return None, str(error)
    return changed_selections(later, old, new), ""


def _fingerprints(
    old: Mapping[str, CertifiedCell], new: Mapping[str, CertifiedCell], common: Sequence[str]
) -> tuple[FingerprintChange, ...]:
    found: dict[tuple[str, str, str], list[str]] = {}
    for key in common:
        before, after = old[key].fingerprint, new[key].fingerprint
        for part in type(before).model_fields:
            was, now = getattr(before, part), getattr(after, part)
            if was != now:
                found.setdefault((part, str(was), str(now)), []).append(key)
    return tuple(FingerprintChange(*what, tuple(keys)) for what, keys in sorted(found.items()))
