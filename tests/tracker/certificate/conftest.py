"""The statement that the checks work on: the one made from the H200 evidence."""

import pytest

from schemas import Statement
from tracker.importers import ImportedEvidence


@pytest.fixture(scope="session")
def imported(h200_evidence: ImportedEvidence) -> ImportedEvidence:
    return h200_evidence


@pytest.fixture(scope="session")
def statement(h200_statement: Statement) -> Statement:
    return h200_statement
