"""`fit`: an integer table from the evidence, judged on the held-out cells; methods side by side."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from schemas import FitCompleted, GateFailedError, Metrics
from tracker.cli import _complete as complete
from tracker.cli._options import json_option, store_option
from tracker.cli._output import emit_json, print_table, say
from tracker.cli._verbs import Verbs

if TYPE_CHECKING:
    from fit import MethodReport

COLUMNS = ("cells", "separated pairs", "ordered right %", "regret median %", "p95 %", "max %")


class FitGroup(Verbs):
    """`fit CAMPAIGN` is `fit run CAMPAIGN`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the verb in where it was left out."""
        known = {*self.commands, "--help", "-h"}
        return super().parse_args(ctx, args if args and args[0] in known else ["run", *args])


@click.group(cls=FitGroup)
def fit() -> None:
    """Fit the integer cost table of a campaign and judge it on the registered holdout.

    `fit CAMPAIGN` is short for `fit run CAMPAIGN`, whose options it takes.

    \b
    Examples:
      layoutledger fit cpu-quick
      layoutledger fit compare cpu-quick
    """


@fit.command("run")
@click.argument("campaign", required=False, shell_complete=complete.campaigns)
@click.option("--method", help="Fit by this method instead of the registered one.")
@store_option
@json_option
def run_fit(campaign: str | None, method: str | None, store: Path, as_json: bool) -> None:
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


@fit.command("compare")
@click.argument("campaign", required=False, shell_complete=complete.campaigns)
@click.option("--method", "methods", multiple=True, help="Only this one; may be repeated.")
@click.option(
    "--figures", type=click.Path(path_type=Path, file_okay=False), help="Write figures (SVG) there."
)
@store_option
@json_option
def compare_methods(
    campaign: str | None, methods: tuple[str, ...], figures: Path | None, store: Path, as_json: bool
) -> None:
    """Fit methods side by side: on training and held-out cells, and on cells left out; records nothing.

    Leaving out one cell, shape, model or family at a time shows how a method does where it has not measured.

    \b
    Examples:
      layoutledger fit compare cpu-quick --json
      layoutledger fit compare cpu-quick --figures figures
    """
    from tracker._fits import compare_campaign, compare_figures
    from tracker._ledger import Ledger

    ledger = Ledger(store)
    name = ledger.only_campaign(campaign)
    reports = compare_campaign(ledger, name, methods)
    if figures is not None:
        figures.mkdir(parents=True, exist_ok=True)
        for file, text in compare_figures(ledger, name, reports).items():
            (figures / file).write_text(text, encoding="utf-8")
            say(f"written: {figures / file}")
    if as_json:
        emit_json([report_record(report) for report in reports])
        return
    rows: list[tuple[object, ...]] = []
    for report in reports:
        rows.append((report.method, "train", *_row(report.train), None))
        if report.holdout:
            rows.append((report.method, "holdout", *_row(report.holdout), None))
        for grouping, left in report.left_out.items():
            rows.append(
                (report.method, f"one {grouping} left out", *_row(left.metrics), left.summed_regret_pct)
            )
    print_table("Methods", ("method", "judged on", *COLUMNS, "summed regret %"), rows)
    for report in reports:
        intervals = [(term, i.value, i.low, i.high) for term, i in report.coefficients.items()]
        title = f"{report.method}: milli-microseconds per unit, 95% over resampled cells"
        print_table(title, ("term", "value", "low", "high"), intervals)


@fit.command("check")
@click.argument("campaign", required=False, shell_complete=complete.campaigns)
@click.option("--fit", "fit_id", help="Search under this fit's table; the latest where omitted.")
@click.option(
    "--before",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]),
    help="Prospective: fit on cells measured before this (UTC), judge on later ones.",
)
@click.option("--first", type=click.IntRange(1), help="Prospective: fit on the first so many cells.")
@click.option(
    "--campaign-out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the campaign (JSON) that measures the selections outside the measured family.",
)
@store_option
@json_option
def check_fit(
    campaign: str | None,
    fit_id: str | None,
    before: datetime | None,
    first: int | None,
    campaign_out: Path | None,
    store: Path,
    as_json: bool,
) -> None:
    """Run the planner's real search on every cell under the fitted table; records nothing.

    Selections outside what was measured are listed, and --campaign-out writes the campaign that measures
    them; the regret of the timed automatic choice stands beside. With --before or --first, a table of the
    earlier training cells judges later cells.

    \b
    Examples:
      layoutledger fit check cpu-quick
      layoutledger fit check cpu-quick --first 10 --json
      layoutledger fit check cpu-quick --campaign-out selected.json
    """
    from tracker._ledger import Ledger
    from tracker._selecting import follow_up, prospect_campaign, search_campaign
    from tracker.cli._fit_check import (
        prospect_record,
        search_record,
        show_prospect,
        show_search,
        write_follow_up,
    )

    ledger = Ledger(store)
    name = ledger.only_campaign(campaign)
    if before is not None or first is not None:
        prospect = prospect_campaign(ledger, name, before=before, first=first)
        _tell(prospect, as_json, prospect_record, show_prospect)
        return
    search = search_campaign(ledger, name, fit_id)
    if campaign_out is not None:
        write_follow_up(follow_up(ledger, name, search), campaign_out)
    _tell(search, as_json, search_record, show_search)


Found = TypeVar("Found")


def _tell(
    found: Found, as_json: bool, record: Callable[[Found], object], show: Callable[[Found], None]
) -> None:
    if as_json:
        emit_json(record(found))
    else:
        show(found)


def report_record(report: "MethodReport") -> dict[str, object]:
    """A method's column for scripts."""
    return {
        "method": report.method,
        "table": dict(report.table.coefficients),
        "train": report.train.plain(),
        "holdout": report.holdout.plain() if report.holdout else None,
        "left_out": {
            grouping: {
                "groups": left.groups,
                "metrics": left.metrics.plain(),
                "summed_regret_pct": left.summed_regret_pct,
                "mean_regret_pct": asdict(left.mean_regret_pct),
            }
            for grouping, left in report.left_out.items()
        },
        "coefficients": {term: asdict(interval) for term, interval in report.coefficients.items()},
    }


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
            + "\nthe verdict is recorded. On a noisy machine measure again when it is quiet: what is "
            "measured stays, so name another folder (--store), or the campaign otherwise"
        )
