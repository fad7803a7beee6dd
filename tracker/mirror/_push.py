"""Bring the tracking store up to the log: a run for every sealed segment, once."""

import tempfile
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from schemas import LayoutLedgerError, StoreUnavailableError, redact
from tracker.log import Log, SegmentPath, crash_point, read_segment
from tracker.mirror._checkpoint import write_checkpoint
from tracker.mirror._experiment import experiment_tags
from tracker.mirror._project import project_segment
from tracker.mirror._run_plan import CAMPAIGN_TAG, PROJECTION_TAG, SEGMENT_TAG, RunPlan
from tracker.mlflow_store import SEAL_TAG, RunView, SealedError, Tracking, connect, file_lock, tracking_uri

FEW = 20
"""Up to so many segments are looked up one by one; more are compared with a list of all runs."""

OnPushed = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class PushFailure:
    """A segment, or a campaign's checkpoint, that could not be mirrored, and why; the others were."""

    segment: str
    reason: str


@dataclass(frozen=True, slots=True)
class PushReport:
    """What `push` did: segments whose run it made, completed after a crash, or found there already.

    `restored` names triggers of the embedded store that were missing and have been put back.
    """

    uri: str
    created: tuple[str, ...]
    completed: tuple[str, ...]
    unchanged: int
    failed: tuple[PushFailure, ...]
    restored: tuple[str, ...]


def push(
    log: Log,
    uri: str | None = None,
    *,
    campaign: str | None = None,
    segments: Iterable[str] | None = None,
    budget_s: float | None = None,
    progress: OnPushed | None = None,
) -> PushReport:
    """Mirror sealed segments; again changes nothing, and a run that a crash left half written is completed.

    Each experiment gets its campaign's checkpoint as a tag, unless only some segments are asked for.

    Args:
        log: the log; its folder is the ledger's.
        uri: the tracking store; `MLFLOW_TRACKING_URI` or the embedded one where omitted.
        campaign: only this campaign's segments.
        segments: only these segments.
        budget_s: seconds after which nothing more is begun.
        progress: called with the number of segments done and of all.

    Raises:
        StoreUnavailableError: the store does not answer, or the budget is spent; what it has
            stays, and a later push goes on from there.
    """
    tracking = connect(uri or tracking_uri(log.root), budget_s=budget_s)
    return push_to(tracking, log, campaign=campaign, segments=segments, progress=progress)


def push_to(
    tracking: Tracking,
    log: Log,
    *,
    campaign: str | None = None,
    segments: Iterable[str] | None = None,
    progress: OnPushed | None = None,
) -> PushReport:
    """`push` into a store that is open already."""
    wanted = None if segments is None else set(segments)
    places = [place for place in log.segments(campaign) if wanted is None or place.segment in wanted]
    pusher = _Pusher(log, tracking)
    send = pusher.send if len(places) <= FEW else pusher.send_unless_listed
    for done, place in enumerate(places):
        if progress:
            progress(done, len(places))
        send(place)
    if wanted is None:
        for name in sorted({place.campaign for place in places}):
            pusher.mark(name)
    if progress:
        progress(len(places), len(places))
    return pusher.report()


class _Pusher:
    """One pass over segments; remembers experiments and, for many segments, which are sealed there."""

    def __init__(self, log: Log, tracking: Tracking) -> None:
        self._log = log
        self._tracking = tracking
        self._experiments: dict[str, str] = {}
        self._sealed: dict[str, frozenset[str]] = {}
        self._created: list[str] = []
        self._completed: list[str] = []
        self._failed: list[PushFailure] = []
        self._unchanged = 0

    def report(self) -> PushReport:
        """What was done so far."""
        return PushReport(
            redact(self._tracking.uri),
            tuple(self._created),
            tuple(self._completed),
            self._unchanged,
            tuple(self._failed),
            self._tracking.restored,
        )

    def send(self, place: SegmentPath) -> None:
        """Mirror one segment; whatever is wrong with it is noted, unless the store itself is away."""
        with self._noting(place.segment):
            self._mirror(place)

    def send_unless_listed(self, place: SegmentPath) -> None:
        """`send`, but a segment that the list of the campaign's sealed runs names is not looked up."""
        with self._noting(place.segment):
            if place.segment in self._sealed_in(place.campaign):
                self._unchanged += 1
            else:
                self._mirror(place)

    def mark(self, campaign: str) -> None:
        """Put the campaign's checkpoint on its experiment; one that would cover less than before is noted."""
        with self._noting(campaign):
            refused = write_checkpoint(self._log, self._tracking, campaign, self._experiment(campaign))
            if refused is not None:
                self._failed.append(PushFailure(campaign, refused))

    @contextmanager
    def _noting(self, name: str) -> Generator[None]:
        """Note a failure under that name and go on; a store that is away ends the pass."""
        try:
            yield
        except StoreUnavailableError:
            raise
        except LayoutLedgerError as error:
            self._failed.append(PushFailure(name, str(error)))

    def _mirror(self, place: SegmentPath) -> None:
        experiment = self._experiment(place.campaign)
        run = _best(self._tracking.runs(experiment, _of_segment(place.segment)))
        if run is not None and SEAL_TAG in run.tags:
            self._unchanged += 1
            return
        plan = project_segment(read_segment(place.path), place.path)
        if run is not None:
            run = self._keep_half(run, plan)
        fresh = run is None
        run_id = self._claim(experiment, plan) if run is None else run.run_id
        try:
            _write(self._tracking, run_id, plan)
        except SealedError:
            # Another process pushed the same segment and was first.
            self._unchanged += 1
            return
        (self._created if fresh else self._completed).append(place.segment)

    def _keep_half(self, run: RunView, plan: RunPlan) -> RunView | None:
        """The half-written run if what it has is what would be written; else it is deleted."""
        alike = run.tags.get(PROJECTION_TAG) == plan.tags[PROJECTION_TAG]
        if alike and all(plan.params.get(key) == value for key, value in run.params.items()):
            return run
        self._tracking.delete_run(run.run_id)
        return None

    def _claim(self, experiment: str, plan: RunPlan) -> str:
        """A run for the segment that no other process has: here by a lock, on a server by who sees whom."""
        while True:
            # One process of this ledger at a time decides whether a run has to be made.
            with file_lock(self._log.root / "mlflow" / ".push.lock"):
                found = _best(self._tracking.runs(experiment, _of_segment(plan.segment)))
                if found is not None:
                    return found.run_id
                crash_point("mirror.create.before")
                tags = {key: plan.tags[key] for key in (SEGMENT_TAG, CAMPAIGN_TAG, PROJECTION_TAG)}
                run_id = self._tracking.create_run(experiment, plan.name, plan.start, tags)
                crash_point("mirror.create.after")
            rivals = self._tracking.runs(experiment, _of_segment(plan.segment))
            if all(run.run_id == run_id for run in rivals):
                return run_id
            # Someone on another machine pushes the same segment: give way, then take what is left.
            self._tracking.delete_run(run_id)
            time.sleep(int(run_id[:4], 16) / 65_536)

    def _experiment(self, campaign: str) -> str:
        if campaign not in self._experiments:
            tags = experiment_tags(self._log, campaign)
            self._experiments[campaign] = self._tracking.ensure_experiment(campaign, tags)
        return self._experiments[campaign]

    def _sealed_in(self, campaign: str) -> frozenset[str]:
        if campaign not in self._sealed:
            runs = self._tracking.runs(self._experiment(campaign), f"tags.`{SEAL_TAG}` != ''")
            self._sealed[campaign] = frozenset(run.tags.get(SEGMENT_TAG, "") for run in runs)
        return self._sealed[campaign]


def _of_segment(segment: str) -> str:
    return f"tags.`{SEGMENT_TAG}` = '{segment}'"


def _best(runs: Iterable[RunView]) -> RunView | None:
    """Of several runs of a segment the sealed one, else the one with the smallest id: all choose alike."""
    return min(runs, key=lambda run: (SEAL_TAG not in run.tags, run.run_id), default=None)


def _write(tracking: Tracking, run_id: str, plan: RunPlan) -> None:
    """Everything of the plan, the seal last; each step may be repeated."""
    tracking.log(run_id, plan.params, plan.tags, plan.metrics)
    crash_point("mirror.artifact.before")
    tracking.log_file(run_id, plan.segment_file, plan.segment_artifact.rpartition("/")[0])
    with tempfile.TemporaryDirectory() as folder:
        for path, text in plan.texts.items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
            tracking.log_file(run_id, file, path.rpartition("/")[0] or None)
    crash_point("mirror.artifact.after")
    tracking.end_run(run_id, plan.status, plan.end)
    crash_point("mirror.seal.before")
    tracking.set_tag(run_id, SEAL_TAG, plan.digest)
    crash_point("mirror.seal.after")
