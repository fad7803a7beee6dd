from pathlib import Path

import pytest

from schemas import InvalidInputError
from tracker.mlflow_store import connect, embedded_uri
from tracker.mlflow_store._artifacts import artifact_repository


def test_artifacts_follow_a_moved_ledger(tmp_path: Path):
    old, new = tmp_path / "old", tmp_path / "new"
    tracking = connect(embedded_uri(old))
    run = tracking.create_run(tracking.ensure_experiment("e", {}), "r", 1, {})
    file = tmp_path / "note.txt"
    file.write_text("kept")
    tracking.log_file(run, file, "folder")
    old.rename(new)
    moved = connect(embedded_uri(new))
    experiment = moved.experiment("e")
    assert experiment is not None
    (found,) = moved.runs(experiment)
    assert moved.read_files(found) == {"folder/note.txt": b"kept"}
    assert moved.fetch_file(found.run_id, "folder/note.txt", tmp_path).read_bytes() == b"kept"
    assert not old.exists()


def test_a_run_without_artifacts_has_none(tmp_path: Path):
    tracking = connect(embedded_uri(tmp_path))
    experiment = tracking.ensure_experiment("e", {})
    tracking.create_run(experiment, "r", 1, {})
    (found,) = tracking.runs(experiment)
    assert tracking.read_files(found) == {}


@pytest.mark.parametrize("address", ["mlflow-artifacts:/../../x", "mlflow-artifacts:/a/%2e%2e/%2e%2e/x"])
def test_an_address_that_leads_out_is_refused(tmp_path: Path, address: str):
    with pytest.raises(InvalidInputError, match="leads out"):
        artifact_repository(address, embedded_uri(tmp_path))
