"""A ledger with an issued certificate, made from the H200 evidence."""

import shutil
from pathlib import Path

import pytest

from schemas import CertificateIssued, Statement, Unit, wrap_certificate
from tracker.log import Log
from tracker.mlflow_store import embedded_uri
from tracker.registry import make_bundle, record_review, register_bundle


@pytest.fixture(scope="session")
def statement(h200_statement: Statement) -> Statement:
    return h200_statement


@pytest.fixture(scope="session")
def other_statement(statement: Statement) -> Statement:
    """The same table over other evidence: another certificate."""
    evidence = statement.predicate.evidence.model_copy(update={"root": "1" * 64})
    predicate = statement.predicate.model_copy(update={"evidence": evidence})
    return wrap_certificate(predicate)


def issue(log: Log, statement: Statement) -> None:
    body = statement.predicate
    issued = CertificateIssued(
        digest=statement.digest,
        fit=body.fit,
        table_digest=body.table_digest,
        evidence_root=body.evidence.root,
        table_id=body.table_id,
    )
    with log.open_segment(body.campaign, Unit.CERTIFICATE) as segment:
        segment.append("certificate.issued", issued.plain())


@pytest.fixture
def log(tmp_path: Path, statement: Statement, other_statement: Statement) -> Log:
    log = Log(tmp_path / "ledger")
    issue(log, statement)
    issue(log, other_statement)
    return log


@pytest.fixture(scope="session")
def registered_once(
    tmp_path_factory: pytest.TempPathFactory, statement: Statement, other_statement: Statement
) -> Path:
    """A ledger with versions 1 and 2, to be copied: a ledger's folder can be."""
    log = Log(tmp_path_factory.mktemp("registered") / "ledger")
    issue(log, statement)
    issue(log, other_statement)
    register_bundle(log, make_bundle([statement]), [statement], embedded_uri(log.root))
    return log.root


@pytest.fixture
def registered(tmp_path: Path, registered_once: Path) -> Log:
    """A copy of the ledger with versions 1 and 2, of its own."""
    return Log(Path(shutil.copytree(registered_once, tmp_path / "copy")))


@pytest.fixture
def approve():
    """Both keys for a certificate."""

    def both(log: Log, statement: Statement) -> None:
        record_review(log, statement.digest, "correctness", "clear", by="ada", reason="checked")
        record_review(log, statement.digest, "adoption", "approve", by="bob", reason="wanted")

    return both
