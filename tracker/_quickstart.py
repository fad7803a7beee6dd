"""The main job in one go: register a campaign, measure, mirror, fit, certify, register, plan."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness import CampaignSummary, CellProgress, cell_rows, load_campaign
from planner import ScoringFacts
from schemas import FitCompleted
from tracker._campaigns import open_campaign
from tracker._certificates import IssuedCertificate, certify_fit
from tracker._fits import fit_campaign
from tracker._ledger import Ledger
from tracker._measuring import measure_campaign
from tracker._planning import PlannedPick, compare_picks, find_cell, held_out_cell
from tracker._reporting import write_report
from tracker._versions import load_version, register_campaigns
from tracker.mirror import PushReport, push
from tracker.registry import register_hand_set

CAMPAIGN = "cpu-quick"


class Narrator(Protocol):
    """Who tells the person at the terminal what happens."""

    def step(self, text: str) -> None:
        """A step of the job begins."""
        ...

    def measured(self, summary: CampaignSummary) -> None:
        """The cells are measured."""
        ...

    def fitted(self, fit: str, result: FitCompleted) -> None:
        """The table is fitted and judged."""
        ...


@dataclass(frozen=True, slots=True)
class QuickstartResult:
    """What the job made.

    Args:
        campaign: its name.
        summary: how measuring ended.
        fit: segment id of the fit.
        result: the fit's verdict.
        certificate: the certificate; None where a gate failed.
        version: the registered version; 1 where a gate failed.
        cell: the batch that was planned.
        picks: what version 1 and the new one pick for it.
        mirrored: the last mirror pass.
        report: the campaign's page.
        wall_s: seconds in all.
    """

    campaign: str
    summary: CampaignSummary
    fit: str
    result: FitCompleted
    certificate: IssuedCertificate | None
    version: int
    cell: str
    picks: tuple[PlannedPick, ...]
    mirrored: PushReport
    report: Path
    wall_s: float


def run_quickstart(
    ledger: Ledger,
    narrator: Narrator,
    progress: Callable[[CellProgress], None],
    campaign: str = CAMPAIGN,
) -> QuickstartResult:
    """Do the whole job on this machine; what an earlier run has measured is not measured again.

    Args:
        ledger: where everything goes.
        narrator: told of each step.
        progress: told of each cell and sample.
        campaign: a shipped campaign's name or a campaign file.

    Raises:
        CampaignFailedError: cells failed; they are recorded and can be resumed.
        IncompleteEvidenceError: a candidate has too few usable samples.
    """
    started = time.monotonic()
    manifest = load_campaign(campaign)
    narrator.step(f"Register {manifest.campaign}: {len(manifest.cells)} cells, holdout and gates fixed")
    open_campaign(ledger, manifest)
    name = manifest.campaign
    narrator.step("Measure every candidate layout of every cell")
    summary = measure_campaign(ledger, name, progress=progress)
    narrator.measured(summary)
    narrator.step("Fit on the training cells, judge the held-out ones")
    fit = fit_campaign(ledger, name)
    narrator.fitted(fit.id, fit.result)
    narrator.step("Register version 1, the hand-set score")
    version, certificate = register_hand_set(ledger.log), None
    if fit.result.passed:
        narrator.step("Certify the table and register it")
        certificate = certify_fit(ledger, name, fit.id)
        version = register_campaigns(ledger, (name,))
    narrator.step("Mirror to MLflow, write the report")
    mirrored = push(ledger.log)
    report = write_report(ledger, name)
    cell, picks = _plan_one(ledger, name, version)
    wall_s = time.monotonic() - started
    return QuickstartResult(
        name, summary, fit.id, fit.result, certificate, version, cell, picks, mirrored, report, wall_s
    )


def _plan_one(ledger: Ledger, campaign: str, version: int) -> tuple[str, tuple[PlannedPick, ...]]:
    plan, measured = find_cell(ledger, campaign, held_out_cell(ledger, campaign))
    tables = {1: None}
    loaded = load_version(ledger, version=version)
    versions = tables | {version: loaded.tables[0].coefficients if loaded.tables else None}
    facts = ScoringFacts.of_cell(measured.facts)
    return measured.cell, compare_picks(cell_rows(plan), facts, versions, measured)
