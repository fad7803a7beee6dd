"""Take a cell out of the fit, with a reason a reviewer can judge."""

from schemas import CellExcluded, InvalidInputError, redact
from tracker._campaigns import require_cells
from tracker._ledger import Ledger


def exclude_cell(
    ledger: Ledger, campaign: str, cell: str, *, reason: str, by: str, reference: str = ""
) -> CellExcluded:
    """Record an exclusion.

    Raises:
        NotFoundError: no such campaign, or no such cell in its manifest.
        InvalidInputError: no reason, or the cell is excluded already.
    """
    if not reason.strip():
        raise InvalidInputError(
            f"cell {cell}: an exclusion needs a reason that a reviewer can judge (--reason)"
        )
    manifest = ledger.warehouse.manifest(campaign)
    require_cells(manifest, [cell])
    for exclusion in ledger.warehouse.exclusions(campaign):
        if exclusion.cell == cell:
            raise InvalidInputError(f"cell {cell} is excluded already: {exclusion.reason}; nothing to do")
    excluded = CellExcluded(cell=cell, reason=redact(reason.strip()), reference=redact(reference), by=by)
    with ledger.log.open_segment(campaign, "exclusion", {"cell": cell}) as segment:
        segment.append("cell.excluded", excluded.plain())
    return excluded
