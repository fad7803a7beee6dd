"""Slow tests are begun in the order of what they prove, and only while there is time for them."""

import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import NO_TIME, SLOW_FIRST

REPOSITORY = Path(__file__).resolve().parent.parent


def pytest_says(*arguments):
    command = [sys.executable, "-m", "pytest", "-m", "slow", *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_no_test_begins_that_could_not_end():
    said = pytest_says("tests/test_packaging.py", "--time-left", "1")
    told = re.search(rf"(\d+) tests not begun: {NO_TIME}", said)
    assert told and f"\n{told[1]} skipped" in said


def test_what_proves_most_runs_first_and_every_name_in_the_list_is_there():
    paths = ["tests/tracker/warehouse/test_crash.py", "tests/tracker/test_browser.py"]
    listed = [
        line.partition("::")[0] for line in pytest_says("--collect-only", *paths).splitlines() if "::" in line
    ]
    assert listed == sorted(listed, key=paths[::-1].index)
    assert all((REPOSITORY / path).exists() for path in SLOW_FIRST)
