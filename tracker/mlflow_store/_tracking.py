"""Experiments, runs and their files in a tracking store: the few calls that the mirror needs, typed."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tracker.mlflow_store._calls import Caller, probe_server
from tracker.mlflow_store._environment import prepare_environment, sqlite_path
from tracker.mlflow_store._metrics import embedded_points, server_points
from tracker.mlflow_store._records import MetricPoint, RunView
from tracker.mlflow_store._sealing import seal_database
from tracker.mlflow_store._template import ensure_database

METRICS_A_BATCH = 1000
PAIRS_A_BATCH = 100
PAGE = 1000
PROBE_S = 3.0


class Tracking:
    """One tracking store: the ledger's embedded one, or a server. Made by `connect`.

    `restored` names the triggers of an embedded store that were missing and have been put back.
    """

    def __init__(self, uri: str, call: Caller, restored: Sequence[str]) -> None:
        from mlflow import MlflowClient

        self.uri = uri
        self.call = call
        self.restored = tuple(restored)
        self.embedded = sqlite_path(uri)
        self.client: Any = call("connect", MlflowClient, tracking_uri=uri, registry_uri=uri)

    def experiment(self, name: str) -> str | None:
        """The experiment's id, deleted or not; None where there is none."""
        found = self.call("look up experiment", self.client.get_experiment_by_name, name)
        return None if found is None else str(found.experiment_id)

    def experiment_tags(self, name: str) -> dict[str, str] | None:
        """The tags of an active experiment; None where it is deleted or was never made."""
        found = self.call("look up experiment", self.client.get_experiment_by_name, name)
        return None if found is None or found.lifecycle_stage == "deleted" else dict(found.tags)

    def experiments(self, tag: str) -> dict[str, str]:
        """Names and ids of the experiments that carry a tag, deleted ones too."""
        from mlflow.entities import ViewType

        found: dict[str, str] = {}
        token: str | None = None
        while True:
            page = self.call(
                "list experiments", self.client.search_experiments, view_type=ViewType.ALL, page_token=token
            )
            found |= {str(each.name): str(each.experiment_id) for each in page if tag in each.tags}
            token = page.token
            if not token:
                return found

    def ensure_experiment(self, name: str, tags: Mapping[str, str]) -> str:
        """The id of an active experiment of this name, made or restored where needed."""
        found = self.call("look up experiment", self.client.get_experiment_by_name, name)
        if found is None:
            return self._create_experiment(name, tags)
        if found.lifecycle_stage == "deleted":
            self.call("restore experiment", self.client.restore_experiment, found.experiment_id)
        for key, value in tags.items():
            if found.tags.get(key) != value:
                self.tag_experiment(str(found.experiment_id), key, value)
        return str(found.experiment_id)

    def tag_experiment(self, experiment_id: str, key: str, value: str) -> None:
        """Set one tag of an experiment."""
        self.call("tag experiment", self.client.set_experiment_tag, experiment_id, key, value)

    def _create_experiment(self, name: str, tags: Mapping[str, str]) -> str:
        from mlflow.exceptions import MlflowException

        # A server decides on the place itself; the embedded store's address must not name today's path.
        place = None if self.embedded is None else f"mlflow-artifacts:/{name}"
        try:
            return str(self.client.create_experiment(name, artifact_location=place, tags=dict(tags)))
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise self.call.ours("create experiment", error) from error
        return self.ensure_experiment(name, tags)

    def runs(
        self, experiment_id: str, filter_string: str = "", *, deleted: bool = False
    ) -> tuple[RunView, ...]:
        """Runs of an experiment that match an MLflow filter; with `deleted`, the deleted ones too."""
        from mlflow.entities import ViewType

        view = ViewType.ALL if deleted else ViewType.ACTIVE_ONLY
        found: list[RunView] = []
        token: str | None = None
        while True:
            page = self.call(
                "search runs",
                self.client.search_runs,
                [experiment_id],
                filter_string,
                run_view_type=view,
                max_results=PAGE,
                page_token=token,
            )
            found += [_run_view(run) for run in page]
            token = page.token
            if not token:
                return tuple(found)

    def create_run(self, experiment_id: str, name: str, start: int, tags: Mapping[str, str]) -> str:
        """A new running run with its tags, in one transaction; its id."""
        run = self.call(
            "create run",
            self.client.create_run,
            experiment_id,
            start_time=start,
            tags=dict(tags),
            run_name=name,
        )
        return str(run.info.run_id)

    def log(
        self, run_id: str, params: Mapping[str, str], tags: Mapping[str, str], metrics: Sequence[MetricPoint]
    ) -> None:
        """Params, tags and metric points, in batches; what is there already stays as it is."""
        from mlflow.entities import Metric, Param, RunTag

        for some in _chunks(sorted(params.items()), PAIRS_A_BATCH):
            self.call("log params", self.client.log_batch, run_id, params=[Param(k, v) for k, v in some])
        for some in _chunks(sorted(tags.items()), PAIRS_A_BATCH):
            self.call("log tags", self.client.log_batch, run_id, tags=[RunTag(k, v) for k, v in some])
        for some in _chunks(metrics, METRICS_A_BATCH):
            points = [Metric(point.key, point.value, point.timestamp, point.step) for point in some]
            self.call("log metrics", self.client.log_batch, run_id, metrics=points)

    def end_run(self, run_id: str, status: str, end: int) -> None:
        """Set the final status and the end time."""
        self.call("end run", self.client.set_terminated, run_id, status, end)

    def set_tag(self, run_id: str, key: str, value: str) -> None:
        """Set one tag of a run."""
        self.call("tag run", self.client.set_tag, run_id, key, value)

    def delete_run(self, run_id: str) -> None:
        """Mark a run as deleted."""
        self.call("delete run", self.client.delete_run, run_id)

    def restore_run(self, run_id: str) -> None:
        """Take the mark of deletion off a run."""
        self.call("restore run", self.client.restore_run, run_id)

    def metric_points(self, run_id: str, keys: Sequence[str]) -> tuple[MetricPoint, ...]:
        """The whole history of a run's metrics, sorted; a server has to be told which."""
        if self.embedded is not None:
            return embedded_points(self.embedded, run_id)
        return server_points(
            lambda key: self.call("read metric", self.client.get_metric_history, run_id, key), keys
        )

    def log_file(self, run_id: str, path: Path, folder: str | None = None) -> None:
        """Store a file among the run's artifacts, under `folder`."""
        self.call("store artifact", self.client.log_artifact, run_id, str(path), folder)

    def read_files(self, run: RunView) -> dict[str, bytes]:
        """Every artifact of a run, by path, in one go: asked for singly, each would look up the run anew."""
        from tracker.mlflow_store._artifacts import stored_files

        return self.call("read artifacts", stored_files, run.artifacts, self.uri)

    def fetch_file(self, run_id: str, path: str, folder: Path) -> Path:
        """Copy an artifact into a folder; where it lies there."""
        return Path(self.call("read artifact", self.client.download_artifacts, run_id, path, str(folder)))


def connect(uri: str, *, budget_s: float | None = None, probe_s: float = PROBE_S) -> Tracking:
    """Open a tracking store; an embedded one is made, and its triggers put back, where missing.

    Args:
        uri: `sqlite:///` and a path, or a server's address; see `tracking_uri`.
        budget_s: seconds after which no further call is begun.
        probe_s: seconds to wait for a server's first answer.

    Raises:
        StoreUnavailableError: it cannot be made, opened or reached.
    """
    prepare_environment()
    database = sqlite_path(uri)
    restored: tuple[str, ...] = ()
    if database is None:
        probe_server(uri, probe_s if budget_s is None else min(probe_s, budget_s))
    else:
        ensure_database(database)
        restored = seal_database(database)
    from tracker.mlflow_store._artifacts import register_repository

    register_repository()
    return Tracking(uri, Caller(uri, budget_s), restored)


def open_existing(uri: str) -> Tracking | None:
    """The store if it is there; None for an embedded store that was never made or has been deleted."""
    database = sqlite_path(uri)
    if database is not None and not database.exists():
        return None
    return connect(uri)


def _run_view(run: Any) -> RunView:
    info, data = run.info, run.data
    return RunView(
        run_id=str(info.run_id),
        name=str(info.run_name),
        status=str(info.status),
        start=info.start_time,
        end=info.end_time,
        deleted=info.lifecycle_stage == "deleted",
        artifacts=str(info.artifact_uri),
        params=dict(data.params),
        tags=dict(data.tags),
        metrics=dict(data.metrics),
    )


def _chunks(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
