"""`push`, `pull`, `ui`: the MLflow side of the ledger."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from schemas import CorruptionError, StoreUnavailableError
from tracker.cli import _complete as complete
from tracker.cli._options import json_option, store_option
from tracker.cli._output import emit_json, progress, say

if TYPE_CHECKING:
    from tracker._ui import UiServer


@click.command()
@click.option("--campaign", shell_complete=complete.campaigns, help="Only this one.")
@store_option
@json_option
def push(campaign: str | None, store: Path, as_json: bool) -> None:
    """Mirror what the log holds to MLflow; again changes nothing, half-written runs are completed.

    `MLFLOW_TRACKING_URI` names a server; without it the store inside the ledger's folder is written.

    \b
    Example: layoutledger push
    """
    from tracker._ledger import Ledger
    from tracker.mirror import push as push_log

    ledger = Ledger(store).existing()
    with progress() as bar:
        task = bar.add_task("segments", total=None)
        report = push_log(
            ledger.log,
            campaign=campaign,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    failed = [f"{failure.segment}: {failure.reason}" for failure in report.failed]
    if as_json:
        emit_json(
            {
                "uri": report.uri,
                "created": list(report.created),
                "completed": list(report.completed),
                "unchanged": report.unchanged,
                "failed": failed,
                "restored": list(report.restored),
            }
        )
    else:
        say(
            f"{report.uri}: {len(report.created)} runs made, {len(report.completed)} completed, "
            f"{report.unchanged} unchanged"
        )
        for trigger in report.restored:
            say(f"put back, it was missing: {trigger}")
    if failed:
        raise StoreUnavailableError(
            "not mirrored:\n  " + "\n  ".join(failed) + "\npush again when it is mended"
        )


@click.command()
@store_option
@json_option
def pull(store: Path, as_json: bool) -> None:
    """Take in what other ledgers pushed to the tracking server, and record aliases moved there.

    Each segment is verified line by line before it enters the log.

    \b
    Example: MLFLOW_TRACKING_URI=http://tracking:5000 layoutledger pull
    """
    from tracker._ledger import Ledger
    from tracker.mirror import pull as pull_log
    from tracker.registry import observe_aliases

    log = Ledger(store).log
    report = pull_log(log)
    moved = observe_aliases(log)
    failed = [f"{failure.segment}: {failure.reason}" for failure in report.failed]
    if as_json:
        emit_json(
            {
                "uri": report.uri,
                "adopted": list(report.adopted),
                "known": report.known,
                "aliases": [move.plain() for move in moved],
                "failed": failed,
            }
        )
    else:
        say(f"{report.uri}: {len(report.adopted)} segments taken in, {report.known} were there")
        for move in moved:
            say(f"alias {move.alias} was moved outside the ledger, to version {move.version}: recorded")
    if failed:
        raise CorruptionError(
            "not taken in:\n  "
            + "\n  ".join(failed)
            + "\nthe ledger is unchanged by these; ask who pushed them to push again from a sound ledger"
        )


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), help="A free one where omitted.")
@store_option
def ui(port: int | None, store: Path) -> None:
    """Mirror the log, then serve the ledger's MLflow store on this machine; Ctrl-C ends it.

    The printed addresses lead to each campaign's runs and charts and to the registered versions.

    \b
    Example: layoutledger ui --store ledger
    """
    from tracker._ledger import Ledger
    from tracker._pages import ledger_pages
    from tracker._ui import serve_ui
    from tracker.mirror import push as push_log
    from tracker.mlflow_store import embedded_uri

    ledger = Ledger(store).existing()
    push_log(ledger.log, embedded_uri(ledger.store))
    pages = ledger_pages(ledger.store)

    def announce(server: "UiServer") -> None:
        say(f"MLflow on {server.experiments} (Ctrl-C ends it)")
        for page in pages:
            say(f"  {page.name}: {server.address}/{page.path}")

    serve_ui(ledger.store, port, announce=announce)


@click.command()
def protect() -> None:
    """Print SQL that makes a shared PostgreSQL tracking store refuse changes to sealed runs.

    \b
    Example: layoutledger protect | psql mlflow
    """
    from tracker.mlflow_store import postgresql_sealing

    click.echo(postgresql_sealing())
