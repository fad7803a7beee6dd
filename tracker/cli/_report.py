"""`report`: a campaign's story as one HTML page."""

from pathlib import Path

import click

from tracker.cli._options import json_option, store_option
from tracker.cli._output import emit_json, say


@click.command()
@click.argument("campaign", required=False)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file; reports/CAMPAIGN.html in the ledger's folder where omitted.",
)
@store_option
@json_option
def report(campaign: str | None, output: Path | None, store: Path, as_json: bool) -> None:
    """Write a campaign's report: one HTML page that needs nothing else.

    What was measured, what failed and why, the table with its intervals, gates, regret by cell, ablations,
    digests, and how to check them, as the ledger knows it now: also before a fit. Without CAMPAIGN the
    ledger's only one is taken. The same events give the same bytes.

    \b
    Examples:
      layoutledger report cpu-quick
      layoutledger report cpu-quick --output cpu-quick.html
    """
    from tracker._ledger import Ledger
    from tracker._reporting import write_report

    ledger = Ledger(store)
    name = ledger.only_campaign(campaign)
    path = write_report(ledger, name, output)
    if as_json:
        emit_json({"campaign": name, "path": str(path), "bytes": path.stat().st_size})
    else:
        say(f"written: {path}")
