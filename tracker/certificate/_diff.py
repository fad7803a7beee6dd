"""What changed between two certificates: terms, cells, coefficients, and what the tables select."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fit import CellVerdict, judge_cells
from schemas import Certificate, CertifiedCell
from tracker._fitting import fit_cells

RULES = ("fit_arguments", "holdout", "required_samples", "exclusions", "gates", "domain")
"""Fields that are compared whole: what was to be measured and judged, and for whom it holds."""


@dataclass(frozen=True, slots=True)
class ChangedSelection:
    """A cell of both certificates in which the second table selects something else.

    Args:
        cell: its key.
        before: label that the first table selects among the first certificate's candidates.
        after: label that the second selects among the second's.
        before_regret_pct: what the first selection costs over the fastest, by the first one's medians.
        after_regret_pct: the same of the second.
    """

    cell: str
    before: str
    after: str
    before_regret_pct: float
    after_regret_pct: float


@dataclass(frozen=True, slots=True)
class CertificateDiff:
    """From one certificate to another.

    Args:
        rules: names of the whole fields that differ.
        added: cells of the second alone, in key order.
        removed: cells of the first alone.
        changed: what differs of the cells in both, by key.
        coefficients: before and after, by term; None where a table lacks it.
        selections: cells whose selection changed.
    """

    rules: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: Mapping[str, tuple[str, ...]]
    coefficients: Mapping[str, tuple[int | None, int | None]]
    selections: tuple[ChangedSelection, ...]

    @property
    def empty(self) -> bool:
        """Whether nothing of this differs."""
        return not (
            self.rules or self.added or self.removed or self.changed or self.coefficients or self.selections
        )


def diff_certificates(first: Certificate, second: Certificate) -> CertificateDiff:
    """What the second certificate says otherwise than the first."""
    before = {cell.cell: cell for cell in first.cells}
    after = {cell.cell: cell for cell in second.cells}
    changed = {key: _changes(before[key], after[key]) for key in sorted(before.keys() & after.keys())}
    return CertificateDiff(
        rules=tuple(name for name in RULES if getattr(first, name) != getattr(second, name)),
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed={key: what for key, what in changed.items() if what},
        coefficients={
            term: (first.table.get(term), second.table.get(term))
            for term in sorted(first.table.keys() | second.table.keys())
            if first.table.get(term) != second.table.get(term)
        },
        selections=_selections(_verdicts(first), _verdicts(second)),
    )


def _changes(before: CertifiedCell, after: CertifiedCell) -> tuple[str, ...]:
    """Names of the cell's parts that differ, and labels of its candidates that do."""
    parts = [
        name
        for name in ("identity", "facts", "fingerprint", "held_out")
        if getattr(before, name) != getattr(after, name)
    ]
    old: dict[str, Any] = {candidate.label: candidate for candidate in before.candidates}
    new: dict[str, Any] = {candidate.label: candidate for candidate in after.candidates}
    labels = [f"candidate {label}" for label in sorted(old | new) if old.get(label) != new.get(label)]
    return (*parts, *labels)


def _verdicts(certificate: Certificate) -> dict[str, CellVerdict]:
    verdicts = judge_cells(fit_cells(certificate.cells), certificate.table)
    return {verdict.key: verdict for verdict in verdicts}


def _selections(
    before: Mapping[str, CellVerdict], after: Mapping[str, CellVerdict]
) -> tuple[ChangedSelection, ...]:
    return tuple(
        ChangedSelection(
            cell=key,
            before=before[key].selected,
            after=after[key].selected,
            before_regret_pct=before[key].regret_pct,
            after_regret_pct=after[key].regret_pct,
        )
        for key in sorted(before.keys() & after.keys())
        if before[key].selected != after[key].selected
    )
