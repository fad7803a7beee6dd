"""Each thing that can be wrong with a ledger's folder is found, with its remedy, and nothing is changed."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tracker.doctor._finding import Finding, examine
from tracker.doctor._machine import check_permissions, check_space
from tracker.doctor._store import store_checks
from tracker.log import Log
from tracker.mlflow_store import connect, database_path, embedded_uri, sqlite_triggers

STRANGER = 65534


def found(store: Path, state: str) -> list[Finding]:
    return [each for each in examine("store", store_checks(store)) if each.state == state]


@pytest.fixture
def ledger(tmp_path: Path) -> Log:
    log = Log(tmp_path / "ledger")
    with log.open_segment("c", "exclusion") as segment:
        segment.append("cell.excluded", {"cell": "x", "reason": "r", "by": "ann", "reference": ""})
    return log


@contextmanager
def stranger() -> Iterator[None]:
    """Act as a user who owns nothing; whoever runs the tests without being root is one already."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(STRANGER)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that anyone can enter; pytest's own are closed."""
    folder = Path(tempfile.mkdtemp(prefix="layoutledger-doctor-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_a_sound_ledger_is_left_alone_and_fine(ledger: Log):
    before = {path: path.read_bytes() for path in ledger.root.rglob("*") if path.is_file()}
    findings = examine("store", store_checks(ledger.root))
    assert {each.state for each in findings} == {"ok"}
    assert "1 sealed segments in 1 campaigns" in findings[0].found
    assert {path: path.read_bytes() for path in ledger.root.rglob("*") if path.is_file()} == before


def test_no_ledger_is_no_failure_and_names_the_way(tmp_path: Path):
    (note,) = found(tmp_path / "none", "note")
    assert "no ledger here yet" in note.found and "quickstart" in note.remedy
    assert found(tmp_path / "none", "broken") == []


def test_a_file_in_its_place_is_broken(tmp_path: Path):
    (tmp_path / "ledger").write_text("")
    assert "a file, no folder" in found(tmp_path / "ledger", "broken")[0].found


def test_a_folder_that_cannot_be_written_is_broken(open_folder: Path):
    store = open_folder / "ledger"
    (store / "log").mkdir(parents=True)
    for folder in (store, store / "log"):
        folder.chmod(0o555)
    with stranger():
        (broken,) = found(store, "broken")
        rights = list(check_permissions(store))
    assert "cannot be written: Permission denied" in broken.found and "--store" in broken.remedy
    assert {each.state for each in rights} == {"broken"} and len(rights) == 2
    for folder in (store, store / "log"):
        folder.chmod(0o755)


def test_a_folder_open_to_anyone_is_a_warning(ledger: Log):
    ledger.root.chmod(0o777)
    (warning,) = check_permissions(ledger.root)
    assert (warning.state, warning.remedy) == ("warning", f"chmod o-w {ledger.root}")


def test_a_full_disk_is_broken(tmp_path: Path):
    place = tmp_path / "small"
    place.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=128k", "none", str(place)]
    if shutil.which("mount") is None or subprocess.run(mounting, capture_output=True).returncode != 0:
        pytest.skip("file systems cannot be mounted here")
    try:
        (place / "filler").write_bytes(b"x" * 100 * 1024)
        (broken,) = found(place / "ledger", "broken")
        assert "No space left" in broken.found and "free space" in broken.remedy
        assert sorted(path.name for path in place.iterdir()) == ["filler"]
        free = shutil.disk_usage(place).free
        assert [each.state for each in check_space(place, free)] == ["broken"]
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_segment_of_a_newer_format_is_broken(ledger: Log):
    (place,) = ledger.segments()
    first, rest = place.path.read_bytes().split(b"\n", 1)
    place.path.write_bytes(first.replace(b'"version":1}', b'"version":2}') + b"\n" + rest)
    (broken,) = found(ledger.root, "broken")
    assert f"{place.path}: segment.opened of version 2, this program knows 1" in broken.found
    assert "newer layoutledger" in broken.remedy


@pytest.mark.parametrize("damage", [b"", b"{}\n", b"not json\n", b'{"type":"x.y","version":1}\n'])
def test_what_is_no_segment_is_broken(ledger: Log, damage: bytes):
    (place,) = ledger.segments()
    place.path.write_bytes(damage)
    assert str(place.path) in found(ledger.root, "broken")[0].found


def test_a_dead_writer_and_its_leftovers_are_warnings_that_recovery_removes(ledger: Log):
    ledger.open_segment("c", "fit").close()
    (ledger.folder / "c" / "01JZ3V8Q6N5T4S3R2P1M0K9J8H.new").touch()
    warnings = found(ledger.root, "warning")
    assert len(warnings) == 2 and all("layoutledger recover" in each.remedy for each in warnings)


def test_a_live_writer_is_a_note(ledger: Log):
    writer = ledger.open_segment("c", "fit")
    (note,) = found(ledger.root, "note")
    assert "a live process is writing it" in note.found
    writer.close()


def test_a_strange_file_in_the_log_is_a_warning(ledger: Log):
    (ledger.folder / "c" / "notes.txt").touch()
    (warning,) = found(ledger.root, "warning")
    assert "notes.txt" in warning.found


def test_a_store_that_lost_its_triggers_is_a_warning_and_one_that_is_none_is_broken(ledger: Log):
    connect(embedded_uri(ledger.root))
    assert found(ledger.root, "warning") == []
    database = database_path(ledger.root)
    with sqlite3.connect(database) as connection:
        connection.execute(f"DROP TRIGGER {next(iter(sqlite_triggers()))}")
    (warning,) = found(ledger.root, "warning")
    assert "1 triggers are gone" in warning.found and "push" in warning.remedy
    database.write_bytes(b"no database" * 100)
    assert str(database) in found(ledger.root, "broken")[0].found
