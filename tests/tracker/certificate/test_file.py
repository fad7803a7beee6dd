"""The file of a certificate in a ledger: whole and under its name, or not there."""

from pathlib import Path

import pytest

from schemas import Statement
from tracker.certificate import certificate_name, read_statement, write_certificate


def test_the_file_is_there_under_its_name_and_nothing_beside_it(tmp_path: Path, statement: Statement):
    folder = tmp_path / "certificates"
    path = write_certificate(folder, statement)
    assert write_certificate(folder, statement) == path
    assert path.name == certificate_name(statement.predicate.campaign, statement.digest)
    assert read_statement(path).digest == statement.digest
    assert list(folder.iterdir()) == [path]


def test_a_full_disk_leaves_no_part_of_a_file(
    tmp_path: Path, statement: Statement, monkeypatch: pytest.MonkeyPatch
):
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_certificate(tmp_path, statement)
    assert list(tmp_path.iterdir()) == []
