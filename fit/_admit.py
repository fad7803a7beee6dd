"""What evidence must hold before a fit may start: every gap is named, all at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from schemas import IncompleteEvidenceError


@dataclass(frozen=True, slots=True)
class CellEvidence:
    """What is there of one cell.

    Args:
        fingerprints: the different execution fingerprints among its samples, as digests.
        usable: usable samples by candidate label, the mandatory ones all named, zero included.
    """

    fingerprints: frozenset[str]
    usable: Mapping[str, int] = field(default_factory=dict[str, int])


def check_evidence(
    expected: Sequence[str],
    present: Mapping[str, CellEvidence],
    *,
    exclusions: Mapping[str, str],
    required: int,
) -> None:
    """Refuse evidence that does not carry a fit (design, section 8).

    Args:
        expected: the manifest's cell keys.
        present: what was measured, by cell key.
        exclusions: reason by key of each cell taken out.
        required: usable samples that each mandatory candidate must have.

    Raises:
        IncompleteEvidenceError: listing every missing, unexpected, wrongly excluded or incomplete cell.
    """
    gaps = [*_absent(expected, present, exclusions), *_foreign(expected, present, exclusions)]
    for key, cell in sorted(present.items()):
        if key in set(expected) - set(exclusions):
            gaps += _incomplete(key, cell, required)
    if gaps:
        listed = "\n".join(f"  - {gap}" for gap in gaps)
        raise IncompleteEvidenceError(
            f"the evidence does not carry a fit ({len(gaps)} gaps):\n{listed}\n"
            "measure what is missing (campaign resume) or exclude a cell with its reason (exclude)"
        )


def _absent(
    expected: Sequence[str], present: Mapping[str, CellEvidence], exclusions: Mapping[str, str]
) -> list[str]:
    return [f"{key}: not measured" for key in expected if key not in present and key not in exclusions]


def _foreign(
    expected: Sequence[str], present: Mapping[str, CellEvidence], exclusions: Mapping[str, str]
) -> list[str]:
    known = set(expected)
    gaps = [f"{key}: measured, but no cell of the manifest" for key in sorted(set(present) - known)]
    for key, reason in sorted(exclusions.items()):
        if key not in known:
            gaps.append(f"{key}: excluded, but no cell of the manifest")
        elif not reason.strip():
            gaps.append(f"{key}: excluded without a reason")
    return gaps


def _incomplete(key: str, cell: CellEvidence, required: int) -> list[str]:
    gaps: list[str] = []
    if len(cell.fingerprints) > 1:
        gaps.append(f"{key}: {len(cell.fingerprints)} execution fingerprints; samples of them never mix")
    if not cell.usable:
        gaps.append(f"{key}: no candidate")
    for label, count in sorted(cell.usable.items()):
        if count < required:
            gaps.append(f"{key}: candidate {label} has {count} usable samples of {required}")
    return gaps
