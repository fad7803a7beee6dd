"""A certificate over imported evidence without a ledger: the same cells, the same table."""

from schemas import CertifiedCandidate, CertifiedCell, EvidenceRoot, Statement
from tracker._fitting import judge_evidence
from tracker.certificate import build_statement
from tracker.importers import ImportedEvidence


def certify(evidence: ImportedEvidence) -> Statement:
    """Fit, judge and wrap, over a root of zeros."""
    cells = tuple(
        CertifiedCell(
            cell=cell.cell,
            identity=cell.identity,
            facts=cell.facts,
            fingerprint=cell.fingerprint,
            held_out=evidence.manifest.holdout.holds_out(cell.cell),
            candidates=tuple(
                CertifiedCandidate(**candidate.model_dump())
                for candidate in sorted(cell.candidates, key=lambda candidate: candidate.label)
            ),
        )
        for cell in sorted(evidence.cells, key=lambda cell: cell.cell)
    )
    root = EvidenceRoot(root="0" * 64, segments=("0" * 26,), events=1)
    result = judge_evidence(evidence.manifest, cells, (), evidence.manifest.fit, root)
    return build_statement("0" * 26, result, evidence.manifest, cells, ())
