import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from schemas import StoreUnavailableError
from tracker.mlflow_store import (
    connect,
    database_path,
    embedded_uri,
    ensure_database,
    file_lock,
    missing_triggers,
)

OPEN = """
import sys
from pathlib import Path
from tracker.mlflow_store import connect, embedded_uri
connect(embedded_uri(Path(sys.argv[1]))).ensure_experiment(sys.argv[2], {})
"""


def test_a_fresh_store_is_in_wal_mode_with_its_triggers(tmp_path: Path):
    database = database_path(tmp_path)
    ensure_database(database)
    with sqlite3.connect(database) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert (
            connection.execute("SELECT artifact_location FROM experiments")
            .fetchone()[0]
            .startswith("mlflow-artifacts:/")
        )
    assert missing_triggers(database) == ()


def test_an_existing_store_is_left_alone(tmp_path: Path):
    database = database_path(tmp_path)
    ensure_database(database)
    before = database.read_bytes()
    ensure_database(database)
    assert database.read_bytes() == before


@pytest.mark.slow(seconds=20)
def test_four_processes_open_a_fresh_store_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    repository = str(Path(__file__).resolve().parents[3])
    children = [
        subprocess.Popen([sys.executable, "-c", OPEN, str(tmp_path / "ledger"), f"e{n}"], cwd=repository)
        for n in range(4)
    ]
    assert [child.wait() for child in children] == [0, 0, 0, 0]
    tracking = connect(embedded_uri(tmp_path / "ledger"))
    assert all(tracking.experiment(f"e{n}") for n in range(4))


def test_a_store_deleted_under_a_running_process_is_made_anew(tmp_path: Path):
    first = connect(embedded_uri(tmp_path))
    first.ensure_experiment("one", {})
    shutil.rmtree(tmp_path / "mlflow")
    second = connect(embedded_uri(tmp_path))
    assert second.experiment("one") is None
    second.ensure_experiment("two", {})
    assert second.experiment("two") is not None


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "mlflow").write_text("in the way")
    with pytest.raises(StoreUnavailableError, match="cannot be made"):
        ensure_database(database_path(tmp_path))


def test_a_lock_in_a_folder_that_cannot_be_made_says_so_and_what_goes_wrong_under_it_keeps_its_name(
    tmp_path: Path,
):
    (tmp_path / "in-the-way").write_text("")
    with (
        pytest.raises(StoreUnavailableError, match="in-the-way: cannot be written"),
        file_lock(tmp_path / "in-the-way" / ".lock"),
    ):
        pass
    with pytest.raises(FileNotFoundError, match="of the body"), file_lock(tmp_path / "made" / ".lock"):
        raise FileNotFoundError("of the body")
