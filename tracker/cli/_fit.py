"""`fit`: an integer table from the evidence, judged on the held-out cells."""

from pathlib import Path

import click

from schemas import FitCompleted, GateFailedError, Metrics
from tracker.cli._options import json_option, store_option
from tracker.cli._output import emit_json, print_table, say

COLUMNS = ("cells", "separated pairs", "ordered right %", "regret median %", "p95 %", "max %")


@click.command()
@click.argument("campaign", required=False)
@click.option("--method", help="Fit by this method instead of the registered one.")
@store_option
@json_option
def fit(campaign: str | None, method: str | None, store: Path, as_json: bool) -> None:
    """Fit the integer cost table of a campaign and judge it on the registered holdout.

    Without CAMPAIGN the ledger's only one is taken. The verdict is recorded, passed or not.

    \b
    Example: layoutledger fit cpu-quick
    """
    from tracker._fits import fit_campaign
    from tracker._ledger import Ledger

    ledger = Ledger(store)
    name = ledger.only_campaign(campaign)
    recorded = fit_campaign(ledger, name, method=method)
    if as_json:
        emit_json({"fit": recorded.id, "campaign": name} | recorded.result.plain())
    else:
        show_fit(name, recorded.id, recorded.result)
    refuse_failed(name, recorded.result)


def show_fit(campaign: str, fit_id: str, result: FitCompleted) -> None:
    """The table, its metrics, version 1 beside it, and the gates."""
    say(f"campaign {campaign}: fit {fit_id} by {result.arguments.method}")
    title = "Integer table (milli-microseconds per unit)"
    print_table(title, ("term", "value"), sorted(result.table.items()))
    say(f"table sha256: {result.table_digest}")
    rows = [(name, *_row(result.metrics[name])) for name in ("all", "train", "holdout")]
    rows.append(("version 1, all", *_row(result.hand_set)))
    print_table("Judged by the production score", ("cells of", *COLUMNS), rows)
    failed = [verdict for verdict in result.gates if not verdict.passed]
    for verdict in failed:
        found = f"{verdict.value} (limit {verdict.limit}) {verdict.detail}".rstrip()
        say(f"gate failed: {verdict.gate} on {verdict.group}: {found}")
    say(f"gates on the holdout: {len(result.gates) - len(failed)} passed, {len(failed)} failed")


def _row(metrics: Metrics) -> tuple[float | int | None, ...]:
    accuracy = metrics.pairwise_accuracy
    return (
        metrics.cells,
        metrics.ordered_pairs,
        None if accuracy is None else accuracy * 100,
        metrics.median_regret_pct,
        metrics.p95_regret_pct,
        metrics.max_regret_pct,
    )


def refuse_failed(campaign: str, result: FitCompleted) -> None:
    """Raise if a gate failed.

    Raises:
        GateFailedError: naming the gates.
    """
    failed = [f"{v.gate} on {v.group}: {v.value} (limit {v.limit})" for v in result.gates if not v.passed]
    if failed:
        raise GateFailedError(
            f"campaign {campaign}: the fitted table does not pass on the held-out cells:\n  "
            + "\n  ".join(failed)
            + "\nthe verdict is recorded; on a noisy machine measure again when it is quiet"
        )
