"""`quickstart`: the main job from campaign to planner, on this machine."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from schemas import CampaignFailedError, FitCompleted, require_module
from tracker.cli._campaign import ProgressLines, campaign_failure
from tracker.cli._fit import refuse_failed, show_fit
from tracker.cli._options import json_option, named, store_option
from tracker.cli._output import emit_json, progress, say
from tracker.cli._plan import pick_records, show_picks

if TYPE_CHECKING:
    from harness import CampaignSummary
    from tracker._quickstart import QuickstartResult

DEFAULT = "cpu-quick"


@click.command()
@click.option("--campaign", default=DEFAULT, show_default=True, help="A shipped campaign or a TOML file.")
@store_option
@json_option
def quickstart(campaign: str, store: Path, as_json: bool) -> None:
    """Measure, fit, certify, register and plan: the main job in one go.

    What is measured already is kept. A failed gate leaves only version 1 registered, and exits with 5.

    \b
    Example: layoutledger quickstart
    """
    require_module("torch")
    from harness import load_campaign
    from tracker._ledger import Ledger
    from tracker._quickstart import run_quickstart

    with progress() as bar:
        narrator = Lines(
            load_campaign(campaign).campaign,
            "quickstart" if campaign == DEFAULT else f"quickstart --campaign {campaign}",
        )
        result = run_quickstart(Ledger(store), narrator, ProgressLines(bar), campaign)
    if as_json:
        emit_json(record(store, result))
    else:
        show_fit(result.campaign, result.fit, result.result)
        show_picks(result.cell, result.picks)
        show_summary(store, result)
    refuse_failed(result.campaign, result.result)


class Lines:
    """Tells each step as a line on standard error."""

    def __init__(self, campaign: str, command: str) -> None:
        self._campaign = campaign
        self._command = command

    def step(self, text: str) -> None:
        """A step begins."""
        say(f"— {text}")

    def measured(self, summary: "CampaignSummary") -> None:
        """The cells are measured, or some are not.

        Raises:
            CampaignFailedError: cells failed or were left.
        """
        counts = f"{len(summary.completed)} cells measured, {len(summary.skipped)} were there"
        say(f"  {counts}; {summary.wall_s:.0f} s")
        if not summary.ok:
            raise CampaignFailedError(campaign_failure(self._campaign, summary, resume=self._command))

    def fitted(self, fit: str, result: FitCompleted) -> None:
        """The verdict in a line."""
        say(f"  fit {fit}: gates {'passed' if result.passed else 'FAILED'}")


def record(store: Path, result: "QuickstartResult") -> dict[str, object]:
    """The job's outcome for scripts."""
    return {
        "campaign": result.campaign,
        "store": str(store),
        "fit": result.fit,
        "passed": result.result.passed,
        "version": result.version,
        "certificate": result.certificate.digest if result.certificate else None,
        "metrics": {name: metrics.plain() for name, metrics in result.result.metrics.items()},
        "table": result.result.table,
        "batch": result.cell,
        "picks": pick_records(result.picks),
        "report": str(result.report),
        "measure_s": result.summary.wall_s,
        "wall_s": result.wall_s,
    }


def show_summary(store: Path, result: "QuickstartResult") -> None:
    """Paths, and how to go on."""
    say("")
    if result.certificate:
        say(f"Registered layout-cost version {result.version}; certificate {result.certificate.path}")
    else:
        say("A gate failed: only version 1, the hand-set score, is registered.")
    say(f"Report: {result.report}")
    say(f"Ledger: {store}/log (the truth), {store}/warehouse (SQL), {store}/mlflow (runs and registry)")
    say(f"{len(result.mirrored.created)} runs mirrored to MLflow; {result.wall_s:.0f} s in all. Go on with:")
    say(f"  layoutledger ui{named(store)}")
    question = "select cell, candidate, median_ms from candidate_medians order by all"
    say(f'  layoutledger sql{named(store)} "{question}"')
    say(f"  layoutledger plan{named(store)} --version {result.version}")
