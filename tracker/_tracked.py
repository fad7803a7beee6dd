"""Check a certificate from the tracking store alone: its segments, verified, in a ledger of their own."""

import tempfile
from pathlib import Path

from schemas import NotFoundError, Statement
from tracker._certificates import check_reanalysis, file_checks
from tracker._ledger import Ledger
from tracker.certificate import Check, check_log, read_statement
from tracker.mirror import PullReport, pull
from tracker.mlflow_store import open_existing, tracking_uri


def check_tracked(path: Path, store: Path, *, refit: bool) -> tuple[str, tuple[Check, ...]]:
    """Recompute a certificate file from the segments that the tracking store holds; the log is not read.

    Args:
        path: the certificate.
        store: a ledger's folder; its embedded tracking store is read unless `MLFLOW_TRACKING_URI` names one.
        refit: repeat the fit too.

    Raises:
        InvalidInputError: the file is no certificate.
        NotFoundError: no tracking store there.
        StoreUnavailableError: it does not answer.
    """
    statement = read_statement(path)
    uri = tracking_uri(store)
    if open_existing(uri) is None:
        raise NotFoundError(f"{uri}: no tracking store here; `layoutledger push` makes it")
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder))
        report = pull(ledger.log, uri)
        checks = (
            *file_checks(statement, refit=refit),
            _fetched(statement, report),
            *_log_checks(statement, ledger, refit=refit),
        )
    return statement.digest, checks


def _fetched(statement: Statement, report: PullReport) -> Check:
    """What other campaigns' runs hold does not matter here; what this certificate stands on must verify."""
    body = statement.predicate
    needed = {*body.evidence.segments, body.fit}
    lacking = sorted(needed - set(report.adopted))
    reasons = {failure.segment: failure.reason for failure in report.failed}
    wrong = [f"{segment}: {reasons.get(segment, 'not in the store')}" for segment in lacking]
    detail = "; ".join(wrong) or f"{len(needed)} segments from {report.uri}, verified line by line"
    return Check("segments in the tracking store", not wrong, detail)


def _log_checks(statement: Statement, ledger: Ledger, *, refit: bool) -> tuple[Check, ...]:
    campaign = statement.predicate.campaign
    if campaign not in ledger.campaigns():
        return (Check("log", False, f"campaign {campaign} is not in the tracking store"),)
    again = (check_reanalysis(statement, ledger),) if refit else ()
    return (*check_log(statement, ledger), *again)
