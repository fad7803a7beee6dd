"""Addresses of MLflow's pages that a ledger fills: its start page shows tools for language models instead."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from tracker.log import Log
from tracker.mirror import RUNS_VIEW
from tracker.mlflow_store import Models, connect, embedded_uri
from tracker.registry import MODEL

TRAINING = {"workflowType": "machine_learning"}
ATTEMPTS = "tags.`ledger.kind` = 'attempt'"


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a tracking server.

    Args:
        name: what is there.
        path: behind the server's address.
    """

    name: str
    path: str


def ledger_pages(store: Path) -> tuple[Page, ...]:
    """The pages of a mirrored ledger: each campaign's runs and charts, the registered model.

    Args:
        store: the ledger's folder; its embedded store is asked.
    """
    tracking = connect(embedded_uri(store))
    pages: list[Page] = []
    for campaign in Log(store).campaigns():
        experiment = tracking.experiment(campaign)
        if experiment is None:
            continue
        runs = f"#/experiments/{experiment}/runs?"
        pages.append(
            Page(f"{campaign}: runs", runs + urlencode({**TRAINING, "viewStateShareKey": RUNS_VIEW}))
        )
        if campaign != MODEL:
            chart = {**TRAINING, "compareRunsMode": "CHART", "searchFilter": ATTEMPTS}
            pages.append(Page(f"{campaign}: charts", runs + urlencode(chart, quote_via=quote)))
    if Models(tracking).versions(MODEL):
        pages.append(Page("coefficient versions", f"#/models/{MODEL}?{urlencode(TRAINING)}"))
    return tuple(pages)
