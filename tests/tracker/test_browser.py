"""What a person sees in MLflow's pages: a real server on the recorded ledger, a real browser, screenshots."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracker._certificates import certify_fit
from tracker._exclusions import exclude_cell
from tracker._fits import fit_campaign
from tracker._ledger import Ledger
from tracker._pages import ledger_pages
from tracker._reporting import write_report
from tracker._ui import start_ui
from tracker._versions import register_campaigns
from tracker.log import read_segment
from tracker.mirror import push
from tracker.mlflow_store import connect, embedded_uri
from tracker.registry import promote, record_review

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLE = REPOSITORY / "mlruns.example"
CAMPAIGN = "cpu-quick"
FAILED = "chain-4|hybrid-tiny|L4|tp1|cp1"
EXCLUDED = "grpo-2x6|attention-tiny|L4|tp1|cp1"
REASON = "shared with another job: *all* samples were <b>disturbed</b>"
PATIENCE_MS = 120_000
QUIET = """
localStorage.setItem('mlflow.assistant.fab.autoOpenedOnFirstLoad_v1', 'true');
localStorage.setItem('mlflow.assistant.panelOpen_v1', 'false');
"""
"""MLflow opens its assistant's panel on a first visit; whoever has closed it once sees what we see."""

pytestmark = pytest.mark.slow(seconds=90)


def evidence_alone(folder: Path) -> Ledger:
    """The recorded campaign without what was made of it: fits, certificates and versions."""
    ledger = Ledger(folder)
    for place in Ledger(EXAMPLE).log.segments(CAMPAIGN):
        if read_segment(place.path)[0].data["unit"] in ("campaign", "attempt"):
            ledger.log.adopt(place.path)
    return ledger


def record_failure(ledger: Ledger) -> None:
    """One more attempt at a cell, which the kernel ends."""
    first = next(
        events
        for events in (read_segment(place.path) for place in ledger.log.segments(CAMPAIGN))
        if events[0].subject.get("cell") == FAILED
    )
    with ledger.log.open_segment(CAMPAIGN, "attempt", {"cell": FAILED, "attempt": "2"}) as segment:
        for event in first[1:20]:
            more = {"number": 2} if event.type == "cell.started" else {}
            segment.append(event.type, {**event.data, **more}, durable=False)
        segment.append(
            "cell.failed",
            {
                "cell": FAILED,
                "kind": "killed",
                "message": "rank 1 was ended by signal 9: the kernel's out-of-memory killer, or a person",
                "exit_codes": [0, -9],
                "last_collectives": ["rank 0: all_reduce in the backward of layer 2"],
                "log_tail": "rank 0: waiting in all_reduce\nrank 1: Killed\n",
                "samples": 17,
            },
        )


@pytest.fixture(scope="module")
def browsed(tmp_path_factory) -> Path:
    """A ledger in which everything has happened once: measured, failed, excluded, fitted, promoted."""
    ledger = evidence_alone(tmp_path_factory.mktemp("browsed") / "ledger")
    assert fit_campaign(ledger, CAMPAIGN).result.passed
    digest = certify_fit(ledger, CAMPAIGN).statement.digest
    assert register_campaigns(ledger, [CAMPAIGN]) == 2
    record_review(ledger.log, digest, "correctness", "clear", by="ada", reason="recomputed elsewhere")
    record_review(ledger.log, digest, "adoption", "approve", by="bob", reason="regret is below 2%")
    promote(ledger.log, "champion", 2, by="bob", reason="first fitted table")
    record_failure(ledger)
    exclude_cell(ledger, CAMPAIGN, EXCLUDED, reason=REASON, reference="ticket 12", by="ada")
    push(ledger.log, embedded_uri(ledger.store))
    return ledger.store


@pytest.fixture(scope="module")
def browser():
    """Debian's chromium, driven by playwright."""
    sync = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = os.environ.get("LAYOUTLEDGER_CHROMIUM") or shutil.which("chromium")
    if program is None:
        pytest.skip("no chromium: apt-get install chromium, or name one in LAYOUTLEDGER_CHROMIUM")
    with sync.sync_playwright() as play:
        started = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


class Visitor:
    """A person with a browser: goes to a page, looks, keeps a picture."""

    def __init__(self, page, address: str, store: Path) -> None:
        self.page = page
        self.address = address
        self.pages = {each.name: each.path for each in ledger_pages(store)}
        tracking = connect(embedded_uri(store))
        self.experiment = tracking.experiment(CAMPAIGN)
        self.runs = tracking.runs(self.experiment)
        kept = REPOSITORY / ".artifacts" / "screenshots"
        self.pictures = Path(os.environ.get("LAYOUTLEDGER_SCREENSHOTS", kept))

    def open(self, path: str) -> None:
        # The pages are one program behind a fragment: from another page only a new start reads the address.
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}/{path}")

    def open_run(self, kind: str, verdict: str, tab: str = "") -> None:
        (run,) = [
            run
            for run in self.runs
            if (run.tags["ledger.kind"], run.tags["ledger.verdict"]) == (kind, verdict)
            and run.tags.get("ledger.cell") in (None, FAILED, EXCLUDED)
            and not (verdict == "completed" and run.tags["ledger.cell"] == EXCLUDED)
        ]
        path = f"#/experiments/{self.experiment}/runs/{run.run_id}{tab}?workflowType=machine_learning"
        self.open(path)

    def sees(self, text: str) -> None:
        self.page.get_by_text(text).first.wait_for(state="visible", timeout=PATIENCE_MS)

    def reads_on(self) -> None:
        """Unfold the whole description."""
        self.page.get_by_text("Show more").first.click(timeout=PATIENCE_MS)

    def keep(self, name: str) -> None:
        self.pictures.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=self.pictures / f"{name}.png")


@pytest.fixture(scope="module")
def visitor(browsed, browser) -> Iterator[Visitor]:
    with start_ui(browsed) as server:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.add_init_script(QUIET)
        yield Visitor(context.new_page(), server.address, browsed)


def test_the_campaign_lists_its_runs_with_what_became_of_them(visitor):
    visitor.open(visitor.pages[f"{CAMPAIGN}: runs"])
    visitor.sees("Two small models on CPU")
    for text in ("ledger.verdict", "fastest", "campaign opened", "uniform_depth_2"):
        visitor.sees(text)
    assert visitor.page.get_by_text(f"{len(visitor.runs)} matching runs").is_visible()
    visitor.keep("campaign")


def test_the_campaigns_charts_show_candidates_over_rounds(visitor):
    visitor.open(visitor.pages[f"{CAMPAIGN}: charts"])
    visitor.sees("by_round_ms")
    visitor.page.locator(".js-plotly-plot").first.wait_for(timeout=PATIENCE_MS)
    visitor.keep("charts")


def test_a_failed_cell_says_first_that_it_failed_then_why_and_what_to_do(visitor):
    visitor.open_run("attempt", "killed")
    visitor.sees(f"killed · {FAILED} · attempt 2")
    visitor.sees("Failed")
    visitor.sees("rank 1 was ended by signal 9")
    visitor.reads_on()
    for text in ("Exit codes by rank: 0, -9.", "all_reduce in the backward of layer 2", "log-tail.txt"):
        visitor.sees(text)
    visitor.sees("layoutledger campaign resume")
    assert not visitor.page.get_by_text("Fastest:").count()
    visitor.keep("failed-cell")


def test_a_measured_cell_names_the_fastest_candidate_and_draws_its_rounds(visitor):
    visitor.open_run("attempt", "completed")
    visitor.sees("Fastest:")
    visitor.keep("cell")
    visitor.open_run("attempt", "completed", "/model-metrics")
    visitor.sees("by_round_ms")
    visitor.page.locator(".js-plotly-plot").first.wait_for(timeout=PATIENCE_MS)
    visitor.keep("cell-charts")


def test_an_exclusion_shows_its_reason_as_it_was_written(visitor):
    visitor.open_run("exclusion", "excluded")
    visitor.sees(f"exclusion · {EXCLUDED}")
    visitor.sees("taken out")
    visitor.sees(REASON)
    assert visitor.page.locator("b", has_text="disturbed").count() == 0
    visitor.keep("exclusion")


def test_the_fit_says_its_verdict_and_holds_figures_and_the_report(visitor):
    visitor.open_run("fit", "gates passed")
    visitor.sees("gates passed")
    visitor.sees("held-out cells")
    visitor.keep("fit")
    visitor.open_run("fit", "gates passed", "/artifacts")
    visitor.sees("figures")
    visitor.page.get_by_text("report.html").first.click(timeout=PATIENCE_MS)
    frame = visitor.page.frame_locator("iframe").first
    frame.locator("h1").first.wait_for(timeout=PATIENCE_MS)
    assert CAMPAIGN in frame.locator("body").inner_text()
    visitor.keep("report")


def test_the_report_fits_a_phone_and_only_tables_and_figures_scroll(browsed, browser):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(write_report(Ledger(browsed), CAMPAIGN).as_uri())
    assert "champion" in page.locator("body").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.close()


def test_the_registered_version_says_what_it_stands_on_and_that_it_is_the_champion(visitor):
    visitor.open(visitor.pages["coefficient versions"])
    visitor.sees("Cost of a prefix-tree layout")
    visitor.sees("champion")
    visitor.keep("model")
    visitor.open("#/models/layout-cost/versions/2?workflowType=machine_learning")
    for text in (
        "Version 2",
        "Table cpu-tiny",
        "gates passed",
        "hand-set score",
        "milli-µs a unit",
        "champion",
    ):
        visitor.sees(text)
    visitor.keep("version")
