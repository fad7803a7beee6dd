"""The root command; verbs are loaded when they are used, so that `--help` is quick."""

import os
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import click

from schemas import InvalidInputError
from tracker.cli._boundary import EXIT_CODES, PROGRAM, READER_GONE, run
from tracker.cli._verbs import Verbs

# Verb: (module, attribute). Import cost is paid by the verb that needs it.
VERBS = {
    "quickstart": ("_quickstart", "quickstart"),
    "campaign": ("_campaign", "campaign"),
    "recipe": ("_recipe", "recipe"),
    "exclude": ("_evidence", "exclude"),
    "import": ("_evidence", "import_group"),
    "fit": ("_fit", "fit"),
    "certify": ("_certificate", "certify"),
    "certificate": ("_certificate", "certificate"),
    "register": ("_registry", "register"),
    "review": ("_registry", "review"),
    "hold": ("_registry", "hold"),
    "promote": ("_registry", "promote"),
    "rollback": ("_registry", "rollback"),
    "versions": ("_registry", "versions"),
    "plan": ("_plan", "plan"),
    "drift": ("_drift", "drift"),
    "export": ("_export", "export_group"),
    "report": ("_report", "report"),
    "sql": ("_evidence", "sql"),
    "push": ("_mirror", "push"),
    "pull": ("_mirror", "pull"),
    "ui": ("_mirror", "ui"),
    "recover": ("_evidence", "recover"),
    "verify": ("_evidence", "verify"),
    "rebuild": ("_evidence", "rebuild"),
    "prove": ("_evidence", "prove"),
    "protect": ("_mirror", "protect"),
    "doctor": ("_doctor", "doctor"),
    "config": ("_config", "config"),
    "completion": ("_config", "completion"),
    "errors": ("_config", "errors"),
}


class LazyGroup(Verbs):
    """A group whose verbs are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Verbs in the order in which they are used."""
        return list(VERBS)

    def invoke(self, ctx: click.Context) -> object:
        """Run a verb; where the reader of its output went away, end quietly with a code of its own."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # Else the interpreter would try to write the rest when it ends, and complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(READER_GONE)
        return result

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module."""
        if cmd_name not in VERBS:
            return None
        module, attribute = VERBS[cmd_name]
        command = getattr(import_module(f"tracker.cli.{module}"), attribute)
        assert isinstance(command, click.Command)
        return command


@click.group(
    cls=LazyGroup,
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.version_option(version("layoutledger"), prog_name=PROGRAM)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Measure layouts, keep every fact, fit a cost table you can trust, plan with it by version.

    \b
    Example:
      layoutledger quickstart
      layoutledger sql "select cell, state from cells"
    """
    from tracker._settings import read_settings
    from tracker.cli._config import settings_applied

    try:
        ctx.obj = read_settings(Path.cwd())
    except InvalidInputError as error:
        # The doctor tells of a wrong file, and this verb of its own; neither needs what it says.
        if ctx.invoked_subcommand not in ("doctor", "completion", "errors"):
            raise
        ctx.obj = error
        return
    ctx.with_resource(settings_applied(ctx.obj))


def main() -> None:
    """Entry point of the `layoutledger` program."""
    run(cli)
