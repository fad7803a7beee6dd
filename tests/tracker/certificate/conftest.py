"""A statement made from the H200 evidence, for the checks to work on."""

import pytest

from schemas import CertifiedCandidate, CertifiedCell, EvidenceRoot, Statement
from tracker._fitting import judge_evidence
from tracker.certificate import build_statement
from tracker.importers import ImportedEvidence, read_art_certificate


def certified(evidence: ImportedEvidence) -> tuple[CertifiedCell, ...]:
    return tuple(
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


@pytest.fixture(scope="session")
def imported(shared) -> ImportedEvidence:
    return read_art_certificate(shared / "evidence" / "h200-dense-h2560.certificate.json")


@pytest.fixture(scope="session")
def statement(imported) -> Statement:
    cells = certified(imported)
    root = EvidenceRoot(root="0" * 64, segments=("0" * 26,), events=1)
    result = judge_evidence(imported.manifest, cells, (), imported.manifest.fit, root)
    return build_statement("0" * 26, result, imported.manifest, cells, ())
