"""A fresh embedded store: its tables are made once a machine, then copied (seconds against milliseconds)."""

import contextlib
import fcntl
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Generator
from importlib.metadata import version
from pathlib import Path

from schemas import StoreUnavailableError
from tracker.mlflow_store._environment import SQLITE, prepare_environment
from tracker.mlflow_store._sealing import seal_database


def ensure_database(database: Path) -> None:
    """Make the embedded store if it is not there; any number of processes may call this at once.

    MLflow's own start on an empty file races with a second process and can leave a store that never opens.

    Raises:
        StoreUnavailableError: the folder cannot be written.

    """
    if database.exists():
        return
    try:
        database.parent.mkdir(parents=True, exist_ok=True)
        with file_lock(database.with_name(f".{database.name}.lock")):
            if not database.exists():
                _copy_template(database)
    except StoreUnavailableError:
        raise
    except OSError as error:
        raise StoreUnavailableError(
            f"{database}: the embedded tracking store cannot be made: {error.strerror or error}; "
            "make the folder writable or free space"
        ) from error


@contextlib.contextmanager
def file_lock(path: Path) -> Generator[None]:
    """Hold an advisory lock on a file, made with its folder where missing; it ends with the process.

    Raises:
        StoreUnavailableError: the file cannot be made.

    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = path.open("ab")
    except OSError as error:
        raise StoreUnavailableError(
            f"{path.parent}: cannot be written: {error.strerror or error}; make it writable"
        ) from error
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _copy_template(database: Path) -> None:
    with tempfile.TemporaryDirectory(dir=database.parent, prefix=".fresh-") as folder:
        fresh = Path(folder, database.name)
        template = _cached_template()
        if template is None:
            _make(fresh)
        else:
            shutil.copyfile(template, fresh)
        seal_database(fresh)
        _sync(fresh)
        _forget(database)
        os.replace(fresh, database)


def _forget(database: Path) -> None:
    """Let nothing of a deleted store of this name reach the fresh one: log files, open connections."""
    for suffix in ("-wal", "-shm"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
    for name in ("mlflow.store.tracking.sqlalchemy_store", "mlflow.store.model_registry.sqlalchemy_store"):
        if name in sys.modules:
            engine = sys.modules[name].SqlAlchemyStore._engine_map.get(f"{SQLITE}{database.absolute()}")
            if engine is not None:
                engine.dispose()


def _cached_template() -> Path | None:
    """The user's template for this MLflow, made on first use; None where no cache can be written."""
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "layoutledger"
        template = cache / f"mlflow-{version('mlflow')}.db"
        if template.exists():
            return template
        with file_lock(cache / f".{template.name}.lock"):
            if not template.exists():
                with tempfile.TemporaryDirectory(dir=cache) as folder:
                    fresh = Path(folder, template.name)
                    _make(fresh)
                    os.replace(fresh, template)
    except (OSError, RuntimeError, StoreUnavailableError):
        return None
    return template


def _make(database: Path) -> None:
    """Have MLflow create its tables; leave one file, in WAL mode, with nothing pending beside it."""
    prepare_environment()
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    tables = SqlAlchemyStore(f"{SQLITE}{database.absolute()}", "mlflow-artifacts:/")
    tables.engine.dispose()
    connection = sqlite3.connect(database)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()


def _sync(path: Path) -> None:
    with path.open("rb") as handle:
        os.fsync(handle.fileno())
