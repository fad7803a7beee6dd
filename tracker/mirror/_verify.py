"""Each way in which the tracking store is not what the mirror wrote."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from schemas import InvalidInputError, NotFoundError, digest_bytes
from tracker.log import Finding, Log, SegmentPath, read_segment
from tracker.mirror._checkpoint import check_checkpoint
from tracker.mirror._experiment import experiment_tags
from tracker.mirror._project import project_segment
from tracker.mirror._run_plan import CAMPAIGN_TAG, NAME_TAG, NOTE_TAG, PROJECTION_TAG, SEGMENT_TAG, RunPlan
from tracker.mlflow_store import (
    SEAL_TAG,
    MetricPoint,
    RunView,
    Tracking,
    database_path,
    open_existing,
    tracking_uri,
)


def verify_mirror(log: Log, uri: str | None = None, *, campaign: str | None = None) -> list[Finding]:
    """Compare every run with the segment it shows; the log is the truth.

    Args:
        log: the log.
        uri: the tracking store; `MLFLOW_TRACKING_URI` or the embedded one where omitted.
        campaign: only this one.

    Returns:
        Findings; empty when all is well. Missing triggers of the embedded store are put back and reported.

    Raises:
        StoreUnavailableError: the store does not answer.
        CorruptionError: the log itself does not verify (see `verify_log`).
    """
    address = uri or tracking_uri(log.root)
    tracking = open_existing(address)
    if tracking is None:
        segments = log.segments(campaign)
        return (
            [Finding("missing store", address, f"runs of {len(segments)} segments", "no file")]
            if segments
            else []
        )
    findings = [Finding("missing trigger", address, name, "put back now") for name in tracking.restored]
    names = set(tracking.experiments(CAMPAIGN_TAG)) | set(log.campaigns())
    for name in sorted(names if campaign is None else {campaign}):
        findings.extend(_check_campaign(log, tracking, name))
    return findings


def _check_campaign(log: Log, tracking: Tracking, campaign: str) -> Iterator[Finding]:
    places = {place.segment: place for place in log.segments(campaign)}
    experiment = tracking.experiment(campaign)
    if experiment is None:
        if places:
            yield Finding(
                "missing experiment", f"experiment {campaign}", f"{len(places)} runs", "no experiment"
            )
        return
    every = tracking.runs(experiment, deleted=True)
    yield from _check_experiment(log, tracking, campaign, every)
    runs: dict[str, list[RunView]] = {}
    for run in every:
        runs.setdefault(run.tags.get(SEGMENT_TAG, ""), []).append(run)
    for segment, place in places.items():
        yield from _check_segment(tracking, place, runs.get(segment, []))
    for segment in sorted(set(runs) - set(places) - {""}):
        for run in runs[segment]:
            if not run.deleted:
                # Nobody else writes to the store inside the folder.
                own = tracking.embedded == database_path(log.root).absolute()
                what = "deleted segment" if own else "unknown segment"
                told = "no sealed segment of that id" if own else "none: pull it, or it was deleted"
                yield Finding(what, _where(campaign, run), segment, told)


def _check_experiment(
    log: Log, tracking: Tracking, campaign: str, runs: Sequence[RunView]
) -> Iterator[Finding]:
    found = tracking.experiment_tags(campaign)
    where = f"experiment {campaign}"
    if found is None:
        yield Finding("deleted experiment", where, "active", "deleted")
        return
    for key, value in experiment_tags(log, campaign).items():
        if found.get(key) != value:
            yield Finding(
                "edited note" if key == NOTE_TAG else "edited tag",
                f"{where}: {key}",
                value,
                str(found.get(key)),
            )
    yield from check_checkpoint(log, campaign, found, runs)


def _check_segment(tracking: Tracking, place: SegmentPath, runs: Sequence[RunView]) -> Iterator[Finding]:
    active = [run for run in runs if not run.deleted]
    gone = [run for run in runs if run.deleted and SEAL_TAG in run.tags]
    where = f"experiment {place.campaign}: segment {place.segment}"
    if not active:
        what, found = ("deleted run", gone[0].run_id) if gone else ("missing run", "no run: push")
        yield Finding(what, where, "a run", found)
        return
    if len(active) > 1:
        yield Finding("doubled run", where, "one run", ", ".join(sorted(run.run_id for run in active)))
    plan = project_segment(read_segment(place.path), place.path)
    for run in active:
        yield from compare_run(tracking, run, plan)


def compare_run(tracking: Tracking, run: RunView, plan: RunPlan) -> Iterator[Finding]:
    """Every difference between a run and what the log says it has to be."""
    where = _where(plan.campaign, run)
    if SEAL_TAG not in run.tags:
        yield Finding("unfinished run", where, f"tag {SEAL_TAG}", "none: push completes it")
        return
    if run.tags.get(PROJECTION_TAG, plan.tags[PROJECTION_TAG]) != plan.tags[PROJECTION_TAG]:
        yield Finding("other projection", where, plan.tags[PROJECTION_TAG], run.tags[PROJECTION_TAG])
        return
    for what, expected, found in (
        ("edited status", plan.status, run.status),
        ("edited name", plan.name, run.name),
        ("edited start time", plan.start, run.start),
        ("edited end time", plan.end, run.end),
    ):
        if expected != found:
            yield Finding(what, where, str(expected), str(found))
    yield from _compare("param", where, plan.params, run.params)
    yield from _compare("tag", where, {**plan.tags, NAME_TAG: plan.name, SEAL_TAG: plan.digest}, run.tags)
    yield from _compare_metrics(tracking, run, plan, where)
    yield from _compare_files(tracking, run, plan, where)


def _compare(
    what: str, where: str, expected: Mapping[str, Any], found: Mapping[str, Any]
) -> Iterator[Finding]:
    for key in sorted({*expected, *found}):
        if key not in found:
            yield Finding(f"deleted {what}", f"{where}: {key}", str(expected[key]), "nothing")
        elif key not in expected:
            yield Finding(f"added {what}", f"{where}: {key}", "nothing", str(found[key]))
        elif expected[key] != found[key]:
            name = "note" if key == NOTE_TAG else what
            yield Finding(f"edited {name}", f"{where}: {key}", str(expected[key]), str(found[key]))


def _compare_metrics(tracking: Tracking, run: RunView, plan: RunPlan, where: str) -> Iterator[Finding]:
    keys = sorted({*run.metrics, *(point.key for point in plan.metrics)})
    expected, found = set(plan.metrics), set(tracking.metric_points(run.run_id, keys))
    if expected == found:
        yield from _compare_latest(run, plan, where)
        return
    for key in sorted({*keys, *(point.key for point in found)}):
        lost, added = _of_key(expected - found, key), _of_key(found - expected, key)
        what = "edited metric" if lost and added else "deleted metric" if lost else "added metric"
        if lost or added:
            yield Finding(what, f"{where}: {key}", _points(lost), _points(added))


def _compare_latest(run: RunView, plan: RunPlan, where: str) -> Iterator[Finding]:
    """The value that MLflow shows first stands in a table of its own, which can be edited apart."""
    latest: dict[str, MetricPoint] = {}
    for each in plan.metrics:
        if each.key not in latest or _recency(each) > _recency(latest[each.key]):
            latest[each.key] = each
    yield from _compare("metric", where, {key: each.value for key, each in latest.items()}, run.metrics)


def _recency(each: MetricPoint) -> tuple[int, int, float]:
    return each.step, each.timestamp, each.value


def _compare_files(tracking: Tracking, run: RunView, plan: RunPlan, where: str) -> Iterator[Finding]:
    try:
        found = {path: digest_bytes(data) for path, data in tracking.read_files(run).items()}
    except (NotFoundError, InvalidInputError) as error:
        yield Finding("unreadable artifact", where, "readable artifacts", str(error))
        return
    yield from _compare("artifact", where, plan.files, found)


def _of_key(points: Iterable[MetricPoint], key: str) -> list[MetricPoint]:
    return sorted(point for point in points if point.key == key)


def _points(points: Sequence[MetricPoint]) -> str:
    shown = ", ".join(f"{point.value:g} at step {point.step}" for point in points[:3])
    return f"{shown} and {len(points) - 3} more" if len(points) > 3 else shown or "nothing"


def _where(campaign: str, run: RunView) -> str:
    return f"experiment {campaign}: run {run.name} ({run.run_id})"
