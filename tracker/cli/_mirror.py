"""`push`, `pull`, `ui`: the MLflow side of the ledger."""

from pathlib import Path

import click

from schemas import StoreUnavailableError
from tracker.cli._options import json_option, store_option
from tracker.cli._output import emit_json, progress, say


@click.command()
@click.option("--campaign", help="Only this one.")
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
@click.option("--port", type=click.IntRange(1, 65535), help="A free one where omitted.")
@store_option
def ui(port: int | None, store: Path) -> None:
    """Serve the ledger's MLflow store on this machine; Ctrl-C ends it.

    \b
    Example: layoutledger ui --store ledger
    """
    from tracker._ledger import Ledger
    from tracker._ui import serve_ui

    serve_ui(Ledger(store).existing().store, port=port)
