"""From certified cells to a judged integer table: the pure part, which a check can repeat."""

from collections.abc import Mapping, Sequence

from fit import (
    CellEvidence,
    FitCandidate,
    FitCell,
    check_evidence,
    fit_table,
    gate_verdicts,
    judge,
    judge_groups,
    judge_hand_set,
)
from planner import LayoutFeatures, ScoringFacts
from schemas import (
    CertifiedCell,
    CertifiedExclusion,
    EvidenceRoot,
    Features,
    Fingerprint,
    FitArguments,
    FitCompleted,
    IncompleteEvidenceError,
    Manifest,
    digest_json,
    table_digest,
)


def layout_features(features: Features) -> LayoutFeatures:
    """The planner's features of a layout."""
    return LayoutFeatures(
        packed_tokens=features.packed_tokens,
        segment_count=features.segment_count,
        max_depth=features.max_depth,
        segments_below=features.segments_below,
    )


def fit_cells(cells: Sequence[CertifiedCell]) -> tuple[FitCell, ...]:
    """What the fit reads of certified cells, candidates in label order."""
    return tuple(_fit_cell(cell) for cell in cells)


def _fit_cell(cell: CertifiedCell) -> FitCell:
    unshared = min(candidate.features.segment_count for candidate in cell.candidates)
    for candidate in cell.candidates:
        if candidate.label == "no_sharing":
            unshared = candidate.features.segment_count
    return FitCell(
        key=cell.cell,
        model=cell.identity.model,
        family=cell.identity.family,
        shape=cell.identity.shape.label(),
        facts=ScoringFacts.of_cell(cell.facts),
        candidates=tuple(
            FitCandidate(
                label=candidate.label,
                features=layout_features(candidate.features),
                median_ms=candidate.median_ms,
                n=candidate.n,
                spread_pct=candidate.spread_pct,
                # A source without decisions: each shared decision adds one segment to those of no sharing.
                shared_decisions=len(candidate.decisions)
                if candidate.decisions is not None
                else max(0, candidate.features.segment_count - unshared),
            )
            for candidate in cell.candidates
        ),
    )


def refuse_incomplete(
    manifest: Manifest,
    cells: Sequence[CertifiedCell],
    exclusions: Sequence[CertifiedExclusion],
    fingerprints: Mapping[str, Sequence[Fingerprint]],
) -> None:
    """Every expected cell is there or excluded, none unexpected, each candidate with its samples.

    Raises:
        IncompleteEvidenceError: listing every gap.
    """
    present = {
        cell.cell: CellEvidence(
            fingerprints=frozenset(digest_json(each.plain()) for each in fingerprints[cell.cell]),
            usable={candidate.label: candidate.n for candidate in cell.candidates},
        )
        for cell in cells
    }
    check_evidence(
        manifest.keys,
        present,
        exclusions={exclusion.cell: exclusion.reason for exclusion in exclusions},
        required=manifest.protocol.required,
    )


def judge_evidence(
    manifest: Manifest,
    cells: Sequence[CertifiedCell],
    exclusions: Sequence[CertifiedExclusion],
    arguments: FitArguments,
    evidence: EvidenceRoot,
) -> FitCompleted:
    """Fit and judge; pure, so that a check can repeat it and demand the same bytes.

    Raises:
        IncompleteEvidenceError: no cell to train on, or none held out.
    """
    every = fit_cells(cells)
    training = tuple(cell for cell in every if not manifest.holdout.holds_out(cell.key))
    holdout = tuple(cell for cell in every if manifest.holdout.holds_out(cell.key))
    if not training or not holdout:
        what = "train on" if not training else "hold out"
        raise IncompleteEvidenceError(
            f"campaign {manifest.campaign}: no cell left to {what}; measure cells on both sides "
            "of the holdout"
        )
    table = fit_table(training, arguments).coefficients
    verdicts = gate_verdicts(holdout, table, manifest.gates, retained=training)
    return FitCompleted(
        arguments=arguments,
        manifest_digest=manifest.digest,
        evidence=evidence,
        training_cells=_keys(training),
        holdout_cells=_keys(holdout),
        excluded_cells=tuple(exclusion.cell for exclusion in exclusions),
        table_id=manifest.table_id,
        table=dict(table),
        table_digest=table_digest(table),
        metrics={
            "all": judge(every, table),
            "train": judge(training, table),
            "holdout": judge(holdout, table),
        },
        by_model=judge_groups(every, table, "model"),
        by_shape=judge_groups(every, table, "shape"),
        by_family=judge_groups(every, table, "family"),
        hand_set=judge_hand_set(every),
        gates=verdicts,
        passed=all(verdict.passed for verdict in verdicts),
    )


def _keys(cells: Sequence[FitCell]) -> tuple[str, ...]:
    return tuple(cell.key for cell in cells)
