"""Bring in the segments that other ledgers pushed to the same tracking store: the union of both."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from schemas import InvalidInputError, LayoutLedgerError, StoreUnavailableError, redact
from tracker.log import Log
from tracker.mirror._push import PushFailure
from tracker.mirror._run_plan import CAMPAIGN_TAG, SEGMENT_FOLDER, SEGMENT_TAG
from tracker.mlflow_store import SEAL_TAG, RunView, Tracking, connect, tracking_uri
from tracker.warehouse import project_segment


@dataclass(frozen=True, slots=True)
class PullReport:
    """What `pull` did: segments it took in, those that were there already, and those it refused and why."""

    uri: str
    adopted: tuple[str, ...]
    known: int
    failed: tuple[PushFailure, ...]


def pull(log: Log, uri: str | None = None) -> PullReport:
    """Take in every segment of the tracking store that the log lacks, each verified line by line.

    One with an event that is not what its type says is refused like one that does not verify.

    Args:
        log: the log.
        uri: the tracking store; `MLFLOW_TRACKING_URI` or the embedded one where omitted.

    Raises:
        StoreUnavailableError: the store does not answer, or the log cannot be written; what came in stays.
    """
    tracking = connect(uri or tracking_uri(log.root))
    present = {place.segment for place in log.segments()}
    adopted: list[str] = []
    failed: list[PushFailure] = []
    known = 0
    for experiment in tracking.experiments(CAMPAIGN_TAG).values():
        for run in tracking.runs(experiment, f"tags.`{SEAL_TAG}` != ''", deleted=True):
            segment = run.tags.get(SEGMENT_TAG, "")
            if segment in present:
                known += 1
                continue
            try:
                adopted.append(_adopt(log, tracking, run, segment))
            except StoreUnavailableError:
                raise
            except LayoutLedgerError as error:
                failed.append(PushFailure(segment, str(error)))
            else:
                present.add(segment)
    return PullReport(redact(tracking.uri), tuple(adopted), known, tuple(failed))


def _adopt(log: Log, tracking: Tracking, run: RunView, segment: str) -> str:
    """Nothing that the run says is trusted: the file, once verified, says which segment it is."""
    if not segment.isalnum():
        raise InvalidInputError(f"run {run.run_id}: tag {SEGMENT_TAG} is {segment[:80]!r}, no segment id")
    with tempfile.TemporaryDirectory() as folder:
        file = tracking.fetch_file(run.run_id, f"{SEGMENT_FOLDER}/{segment}.jsonl", Path(folder))
        # Tried in a ledger of its own: a line whose digest is right but whose payload is not what its type
        # says would keep every view of this one from being made.
        tried = Log(Path(folder) / "tried").adopt(file)
        project_segment(tried)
        return log.adopt(tried.path).segment
