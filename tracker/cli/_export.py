"""`export`: what the ledger holds, in forms that others read."""

from pathlib import Path

import click

from tracker.cli import _complete as complete
from tracker.cli._options import json_option, store_option
from tracker.cli._output import emit_json, say
from tracker.cli._verbs import Verbs


@click.group("export", cls=Verbs)
def export_group() -> None:
    """Take what the ledger holds elsewhere."""


@export_group.command()
@click.argument("digest", shell_complete=complete.certificates)
@click.option(
    "--form",
    type=click.Choice(["json", "python"]),
    default="json",
    show_default=True,
    help="How it is written.",
)
@click.option("--output", type=click.Path(path_type=Path), help="Write there instead of standard output.")
@store_option
def table(digest: str, form: str, output: Path | None, store: Path) -> None:
    """Write the fitted table whose digest, or whose certificate's, begins with DIGEST.

    \b
    Example: layoutledger export table 1a2b3c4d --form python --output table.py
    """
    from tracker._ledger import Ledger
    from tracker._tables import FORMS, find_table

    text = FORMS[form](find_table(Ledger(store).existing(), digest))
    if output is None:
        click.echo(text, nl=False)
        return
    output.write_text(text, encoding="utf-8")
    say(f"written: {output}")


@export_group.command("version")
@click.argument("version", type=click.IntRange(1), shell_complete=complete.versions)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    show_default="layout-cost-VERSION",
    help="Folder; made where it is missing.",
)
@store_option
@json_option
def version_command(version: int, output: Path | None, store: Path, as_json: bool) -> None:
    """Write a registered VERSION's bundle and certificates, a folder that `planner.load` takes anywhere.

    \b
    Example: layoutledger export version 2 --output layout-cost-2
    """
    from tracker._ledger import Ledger
    from tracker._versions import export_version

    files = export_version(Ledger(store).existing(), version, output or Path(f"layout-cost-{version}"))
    if as_json:
        emit_json({"version": version, "files": [str(file) for file in files]})
        return
    for file in files:
        click.echo(str(file))
