import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracker.mlflow_store import (
    SEAL_TAG,
    MetricPoint,
    SealedError,
    Tracking,
    connect,
    database_path,
    embedded_uri,
    missing_triggers,
    sqlite_triggers,
)


@pytest.fixture
def tracking(tmp_path: Path) -> Tracking:
    return connect(embedded_uri(tmp_path))


@pytest.fixture
def sealed(tracking: Tracking) -> str:
    run = tracking.create_run(tracking.ensure_experiment("e", {}), "r", 1000, {"a": "b"})
    tracking.log(run, {"p": "1"}, {"t": "1"}, [MetricPoint("m", 0, 1000, 1.0)])
    tracking.end_run(run, "FAILED", 2000)
    tracking.set_tag(run, SEAL_TAG, "digest")
    return run


CHANGES: dict[str, Callable[[Tracking, str], Any]] = {
    "tag": lambda t, run: t.set_tag(run, "t", "2"),
    "new tag": lambda t, run: t.set_tag(run, "u", "2"),
    "note": lambda t, run: t.set_tag(run, "mlflow.note.content", "2"),
    "deleted tag": lambda t, run: t.call("x", t.client.delete_tag, run, "t"),
    "unsealing": lambda t, run: t.call("x", t.client.delete_tag, run, SEAL_TAG),
    "new param": lambda t, run: t.log(run, {"q": "1"}, {}, []),
    "new metric": lambda t, run: t.log(run, {}, {}, [MetricPoint("n", 0, 1, 1.0)]),
    "more of a metric": lambda t, run: t.log(run, {}, {}, [MetricPoint("m", 1, 1, 1.0)]),
    "status": lambda t, run: t.end_run(run, "FINISHED", 2000),
    "end": lambda t, run: t.end_run(run, "FAILED", 3000),
    "reopening": lambda t, run: t.call("x", t.client.update_run, run, "RUNNING"),
    "name": lambda t, run: t.call("x", t.client.update_run, run, name="other"),
    "deletion": lambda t, run: t.delete_run(run),
    "experiment": lambda t, run: t.call("x", t.client.delete_experiment, t.experiment("e")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_to_a_sealed_run_is_refused(tracking: Tracking, sealed: str, change: str):
    experiment = tracking.experiment("e")
    assert experiment is not None
    before = tracking.runs(experiment, deleted=True)
    with pytest.raises(SealedError):
        CHANGES[change](tracking, sealed)
    assert tracking.runs(experiment, deleted=True) == before


def test_a_run_without_the_seal_can_be_changed(tracking: Tracking):
    run = tracking.create_run(tracking.ensure_experiment("e", {}), "r", 1000, {})
    tracking.set_tag(run, "t", "2")
    tracking.delete_run(run)


def test_even_plain_sql_is_refused(tmp_path: Path, tracking: Tracking, sealed: str):
    with sqlite3.connect(database_path(tmp_path)) as connection:
        for statement in (
            "DELETE FROM runs",
            "UPDATE latest_metrics SET value = 9",
            "DELETE FROM metrics",
            "UPDATE params SET value = 'x'",
            f"INSERT INTO inputs VALUES ('i', 'DATASET', 'd', 'RUN', '{sealed}', 0)",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="sealed run"):
                connection.execute(statement)


def test_missing_and_altered_triggers_are_put_back_and_named(tmp_path: Path, tracking: Tracking):
    first, second = sorted(sqlite_triggers())[:2]
    with sqlite3.connect(database_path(tmp_path)) as connection:
        connection.execute(f"DROP TRIGGER {first}")
        connection.execute(f"DROP TRIGGER {second}")
        connection.execute(f"CREATE TRIGGER {second} BEFORE DELETE ON runs BEGIN SELECT 1; END")
    assert missing_triggers(database_path(tmp_path)) == (first, second)
    assert connect(embedded_uri(tmp_path)).restored == (first, second)
    assert missing_triggers(database_path(tmp_path)) == ()


@pytest.mark.slow(seconds=40)
def test_the_triggers_outlive_an_upgrade_of_the_database(tmp_path: Path, tracking: Tracking, sealed: str):
    database = database_path(tmp_path)
    upgrade(database)
    assert missing_triggers(database) == ()
    with pytest.raises(SealedError):
        connect(embedded_uri(tmp_path)).set_tag(sealed, "t", "2")


def test_an_upgrade_that_makes_a_table_anew_is_reported_and_its_triggers_put_back(
    tmp_path: Path, tracking: Tracking, sealed: str
):
    """As migrations do on SQLite: a new table is filled, the old one dropped, its triggers with it."""
    database = database_path(tmp_path)
    with sqlite3.connect(database) as connection:
        (made,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'params'").fetchone()
        connection.execute(made.replace("params", "_alembic_tmp_params", 1))
        connection.execute("INSERT INTO _alembic_tmp_params SELECT * FROM params")
        connection.execute("DROP TABLE params")
        connection.execute("ALTER TABLE _alembic_tmp_params RENAME TO params")
    lost = tuple(f"layoutledger_params_{operation}" for operation in ("delete", "insert", "update"))
    upgrade(database)
    assert missing_triggers(database) == lost
    again = connect(embedded_uri(tmp_path))
    assert again.restored == lost and missing_triggers(database) == ()
    with pytest.raises(SealedError):
        again.log(sealed, {"q": "1"}, {}, [])


def upgrade(database: Path) -> None:
    """Run MLflow's own command on the store."""
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"}
    command = [sys.executable, "-m", "mlflow", "db", "upgrade", f"sqlite:///{database}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
