"""The recorded ledger in `mlruns.example` verifies, is small, and gives its certificate again."""

import shutil
from pathlib import Path

import pytest

from tracker._certificates import check_certificate
from tracker._ledger import Ledger
from tracker.log import verify_log

EXAMPLE = Path(__file__).resolve().parent.parent / "mlruns.example"


@pytest.fixture
def example(tmp_path):
    """A copy without projections, as a fresh clone has it."""
    for folder in ("log", "certificates"):
        shutil.copytree(EXAMPLE / folder, tmp_path / folder)
    return Ledger(tmp_path)


@pytest.mark.parametrize("campaign", ["cpu-full", "cpu-quick"])
def test_the_recorded_certificate_is_made_again_from_the_log_and_the_fit_repeats(example, campaign):
    (file,) = (example.store / "certificates").glob(f"{campaign}-*.json")
    digest, checks = check_certificate(file, example, refit=True)
    assert digest.startswith(file.stem.removeprefix(f"{campaign}-"))
    assert [check for check in checks if not check.passed] == []
    found = {check.name: check for check in checks}
    assert {"refit", "made again from the log"} <= found.keys()
    # The fit of cpu-quick was recorded before fits told how well their table is known.
    assert found["recorded analysis"].skipped == (campaign == "cpu-quick")


def test_every_line_of_the_recorded_log_verifies(example):
    assert verify_log(example.log) == []
    assert example.campaigns() == ("cpu-full", "cpu-quick")


def test_the_recorded_ledger_stays_small():
    size = sum(
        p.stat().st_size
        for folder in ("log", "certificates")
        for p in (EXAMPLE / folder).rglob("*")
        if p.is_file()
    )
    assert 0 < size < 3_000_000
