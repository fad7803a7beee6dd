"""A measured ledger for the pages' commands: the recorded one, its projections made again once."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.session import Session

REPOSITORY = Path(__file__).resolve().parents[2]
MINI = Path(__file__).with_name("mini.toml")


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that every page starts from: `ledger`, `mlruns.example`, and a campaign of a minute."""
    folder = tmp_path_factory.mktemp("recorded")
    shutil.copy(MINI, folder / "mini.toml")
    shutil.copytree(REPOSITORY / "mlruns.example", folder / "mlruns.example")
    # A reader of the pages has run the quickstart and nothing else.
    shutil.copytree(folder / "mlruns.example", folder / "ledger", ignore=shutil.ignore_patterns("cpu-full*"))
    session = Session(folder)
    for line in ("layoutledger rebuild", "layoutledger rebuild --store mlruns.example"):
        code, printed = session._call(line)
        assert code == 0, printed
    return folder


@pytest.fixture
def session(recorded: Path, tmp_path: Path) -> Iterator[Session]:
    """A page's own copy."""
    running = Session(Path(shutil.copytree(recorded, tmp_path / "page")))
    yield running
    running.close()
