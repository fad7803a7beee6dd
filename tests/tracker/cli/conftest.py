"""Commands called as the shell calls them, without the cost of a new process each."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tracker._ledger import Ledger
from tracker.cli import cli
from tracker.cli._boundary import run


@dataclass(frozen=True)
class Outcome:
    """What a command did: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


@pytest.fixture
def call(tmp_path, capsys, monkeypatch) -> Callable[..., Outcome]:
    """Run `layoutledger ARGUMENTS` on the ledger in `tmp_path / "ledger"`."""
    monkeypatch.setenv("LAYOUTLEDGER_STORE", str(tmp_path / "ledger"))
    monkeypatch.setenv("LAYOUTLEDGER_CACHE", str(tmp_path / "cache"))

    def invoke(*arguments: object) -> Outcome:
        monkeypatch.setattr("sys.argv", ["layoutledger", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            run(cli)
        captured = capsys.readouterr()
        return Outcome(exit_.value.code or 0, captured.out, captured.err)

    return invoke


@pytest.fixture
def store(tmp_path):
    """The ledger's folder."""
    return tmp_path / "ledger"


@pytest.fixture
def known(known_once, store) -> Ledger:
    """A ledger with the campaign `known`, measured in full."""
    return Ledger(shutil.copytree(known_once, store))


@pytest.fixture
def certified(certified_once, store) -> Ledger:
    """A ledger with the campaign `known`, measured, fitted and certified."""
    return Ledger(shutil.copytree(certified_once, store))


@pytest.fixture
def issued(certified) -> Path:
    """The file of its certificate."""
    (file,) = (certified.store / "certificates").glob("*.json")
    return file
