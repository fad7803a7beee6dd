"""`export`: what the ledger holds, in forms that others read."""

from pathlib import Path

import click

from tracker.cli import _complete as complete
from tracker.cli._options import store_option
from tracker.cli._output import say
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
