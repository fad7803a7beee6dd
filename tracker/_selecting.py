"""A campaign's table in the planner's hands: the real search on its cells, and on cells measured later."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fit import Prospect, SearchedCell, SelectorVerdict, check_selector, prospective_check
from harness import cell_rows, rows_digest
from planner import PrefixTree, build_prefix_tree
from schemas import (
    CellPlan,
    CertifiedCell,
    CorruptionError,
    FitCompleted,
    InvalidInputError,
    Manifest,
    NotFoundError,
)
from tracker._corpora import recorded_trees
from tracker._fitting import fit_cells
from tracker._ledger import Ledger
from tracker._registration import refuse_late_registration

NAME_LENGTH = 45
"""Of a campaign's name in that of its follow-up, which has 18 characters more; 63 is the most."""


@dataclass(frozen=True, slots=True)
class CampaignSearch:
    """What the real search selects in a campaign's cells.

    Args:
        fit: segment id of the fit whose table was searched under.
        result: that fit.
        verdicts: of every cell whose rows can be made again, in key order.
        unsearched: keys of the measured cells whose rows cannot be made: imported ones.
        to_measure: plans of the cells whose selection no one has measured, which ask for that layout.
    """

    fit: str
    result: FitCompleted
    verdicts: tuple[SelectorVerdict, ...]
    unsearched: tuple[str, ...]
    to_measure: tuple[CellPlan, ...]


def search_campaign(ledger: Ledger, campaign: str, fit: str | None = None) -> CampaignSearch:
    """Run the real search under a recorded fit's table on every cell; records nothing.

    Args:
        ledger: where the evidence is.
        campaign: its name.
        fit: segment id, of this or another campaign; this one's latest where omitted.

    Raises:
        NotFoundError: no such campaign or fit, or no cell whose rows can be made.
        CorruptionError: the rows made again are not those that were measured.
    """
    fit_id, result = _fit_of(ledger, campaign, fit)
    searched, unsearched = searched_cells(ledger, campaign)
    if not searched:
        raise NotFoundError(
            f"campaign {campaign}: no measured cell whose rows can be made; imported cells have "
            "none, measure some here"
        )
    verdicts = check_selector(searched, result.table)
    outside = {verdict.key: verdict.decisions for verdict in verdicts if verdict.selected is None}
    plans = tuple(
        plan.model_copy(update={"layouts": (*plan.layouts, outside[plan.identity.key])})
        for plan in ledger.manifest(campaign).cells
        if plan.identity.key in outside
    )
    return CampaignSearch(fit_id, result, verdicts, unsearched, plans)


def _fit_of(ledger: Ledger, campaign: str, fit: str | None) -> tuple[str, FitCompleted]:
    """The named fit, of whatever campaign; the campaign's latest for None."""
    fit_id = fit or ledger.latest_fit(campaign)
    homes = (name for name in ledger.campaigns() if fit_id in ledger.fits(name))
    return fit_id, ledger.fit(next(homes, campaign), fit_id)


def follow_up(ledger: Ledger, campaign: str, search: CampaignSearch) -> Manifest | None:
    """The campaign that measures what a search selected and no one has measured; None where all is.

    Its cells time the mandatory candidates too: only layouts of one attempt compare. Protocol, holdout, gates
    and fit arguments are the campaign's own.

    Raises:
        NotFoundError: no such campaign.
    """
    if not search.to_measure:
        return None
    manifest = ledger.manifest(campaign)
    return manifest.model_copy(
        update={
            "campaign": f"{campaign[:NAME_LENGTH]}-selected-{search.result.table_digest[:8]}",
            "title": f"What the search selects under table {search.result.table_digest[:12]} in {campaign}",
            "cells": search.to_measure,
        }
    )


def searched_cells(ledger: Ledger, campaign: str) -> tuple[tuple[SearchedCell, ...], tuple[str, ...]]:
    """The retained cells with their trees, and the keys of those whose rows cannot be made.

    A user's own rows need not be there: their tree is in the ledger.

    Raises:
        NotFoundError: no such campaign.
        CorruptionError: the rows made again are not those that were measured.
    """
    plans = {plan.identity.key: plan for plan in ledger.manifest(campaign).cells}
    automatic, own_rows = automatic_times(ledger, campaign), recorded_trees(ledger, campaign)
    searched: list[SearchedCell] = []
    unsearched: list[str] = []
    certified = ledger.certified_cells(campaign)
    for cell, fitted in zip(certified, fit_cells(certified), strict=True):
        plan = plans.get(cell.cell)
        if plan is None or plan.workload.kind == "imported":
            unsearched.append(cell.cell)
            continue
        tree = own_rows.get(cell.cell) or _made_again(campaign, plan, cell)
        measured = {each.decisions: each.label for each in cell.candidates if each.decisions is not None}
        searched.append(SearchedCell(fitted, tree, automatic.get(cell.cell), measured))
    return tuple(searched), tuple(unsearched)


def _made_again(campaign: str, plan: CellPlan, cell: CertifiedCell) -> PrefixTree:
    rows = cell_rows(plan)
    if rows_digest(rows) != cell.fingerprint.workload:
        raise CorruptionError(
            f"campaign {campaign}, cell {cell.cell}: the rows made from its plan are not those that were "
            "measured (another version of the generator?); its selections cannot be compared; "
            "check with the version of the tool that measured them"
        )
    return build_prefix_tree(rows)


def automatic_times(ledger: Ledger, campaign: str) -> Mapping[str, float]:
    """Median of the timed automatic choice by cell, milliseconds, from the attempts that count."""
    rows = ledger.warehouse.query("SELECT campaign, cell, median_ms FROM automatic_medians").records()
    return {row["cell"]: row["median_ms"] for row in rows if row["campaign"] == campaign}


def prospect_campaign(
    ledger: Ledger, campaign: str, *, before: datetime | None = None, first: int | None = None
) -> Prospect:
    """Fit on the training cells measured earlier, judge by the real search on all measured later.

    Args:
        ledger: where the evidence is.
        campaign: its name.
        before: earlier are the cells whose attempt ended before this; UTC where it has no zone.
        first: or, without it, earlier are so many cells, in order of their attempts' ends.

    Raises:
        NotFoundError: no such campaign.
        InvalidInputError: neither or both of the ways to divide.
        IncompleteEvidenceError: no cell to fit on earlier, or none to judge later; or the manifest is later
            than the first sample.
    """
    if (before is None) == (first is None):
        raise InvalidInputError("name what is earlier: a time (--before) or a number of cells (--first)")
    refuse_late_registration(campaign, ledger.opened(campaign), ledger.first_sample(campaign))
    manifest = ledger.manifest(campaign)
    ended = _ends(ledger, campaign)
    order = sorted(ended, key=lambda key: (ended[key], key))
    if before is not None:
        limit = before if before.tzinfo else before.replace(tzinfo=UTC)
        earlier = {key for key in order if ended[key] < limit}
    else:
        earlier = set(order[:first])
    training = [
        cell
        for cell in fit_cells(ledger.certified_cells(campaign))
        if cell.key in earlier and not manifest.holdout.holds_out(cell.key)
    ]
    later = [cell for cell in searched_cells(ledger, campaign)[0] if cell.cell.key not in earlier]
    return prospective_check(training, later, manifest.fit)


def _ends(ledger: Ledger, campaign: str) -> dict[str, datetime]:
    rows: Sequence[dict[str, Any]] = ledger.warehouse.query(
        "SELECT campaign, cell, epoch_us(ended) AS ended FROM attempts WHERE counts"
    ).records()
    return {
        row["cell"]: datetime.fromtimestamp(row["ended"] / 1e6, tz=UTC)
        for row in rows
        if row["campaign"] == campaign
    }
