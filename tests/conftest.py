"""Fixtures that every floor's tests share, and the pass of slow tests in the time that there is."""

import gc
import signal
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Load is no failure, and a run must not differ from the next; `--hypothesis-profile explore` looks on.
settings.register_profile(
    "house", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", settings.get_profile("house"), derandomize=False, max_examples=500)
settings.load_profile("house")

REPOSITORY = Path(__file__).resolve().parent.parent

SLOW_FIRST = (
    "tests/tracker/test_browser.py",
    "tests/test_packaging.py",
    "tests/tracker/team/",
    "tests/harness/engines/",
    "tests/test_end_to_end.py",
    "tests/tracker/warehouse/test_crash.py",
    "tests/docs/",
    "tests/test_interrupted.py",
    "tests/test_recipes.py",
    "tests/tracker/mirror/",
    "tests/tracker/registry/",
)
"""Files and folders whose slow tests run before others, what proves most for its time first."""

STARTED = time.monotonic()
SOME_SECONDS = 15
"""How long a slow test takes that does not say."""
NO_TIME = "no time left"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--time-left",
        type=float,
        metavar="SECONDS",
        help="begin no test that would not end in so many seconds, by its mark slow(seconds=...)",
    )


def pytest_configure() -> None:
    """Programs started by tests hear Ctrl-C, also where this process was started in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _place(item: pytest.Item) -> int:
    slow = item.get_closest_marker("slow") is not None
    places = [n for n, start in enumerate(SLOW_FIRST) if item.nodeid.startswith(start)]
    return places[0] if slow and places else len(SLOW_FIRST)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_place)


def pytest_collection_finish() -> None:
    """A million objects of imported modules stay to the end: no later collection looks through them."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture: a test for which there is no time costs none."""
    left = item.config.getoption("--time-left")
    mark = item.get_closest_marker("slow")
    needed = mark.kwargs.get("seconds", SOME_SECONDS) if mark else 0
    if left is not None and time.monotonic() - STARTED + needed > left:
        pytest.skip(NO_TIME)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.getreports("skipped")
    count = sum(NO_TIME in str(report.longrepr) for report in skipped)
    if count:
        terminalreporter.write_line(f"{count} tests not begun: {NO_TIME}")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of evidence beside the checkout; a test that needs it skips where it is absent."""
    folder = REPOSITORY.parent / "shared"
    if not (folder / "evidence").is_dir():
        pytest.skip("the evidence folder beside the checkout is absent")
    return folder


@pytest.fixture(scope="session")
def h200_evidence(shared: Path):
    """What was measured on H200, as the importer reads it."""
    from tracker.importers import read_art_certificate

    return read_art_certificate(shared / "evidence" / "h200-dense-h2560.certificate.json")


@pytest.fixture(scope="session")
def h200_statement(h200_evidence):
    """A certificate over that evidence: 45 cells fitted on, 13 judged on."""
    from tests.h200 import certify

    return certify(h200_evidence)
