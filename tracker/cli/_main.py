"""The root command; verbs are loaded when they are used, so that `--help` is quick."""

from importlib import import_module
from importlib.metadata import version

import click

from tracker.cli._boundary import EXIT_CODES, run

# Verb: (module, attribute). Import cost is paid by the verb that needs it.
VERBS = {
    "quickstart": ("_quickstart", "quickstart"),
    "campaign": ("_campaign", "campaign"),
    "exclude": ("_evidence", "exclude"),
    "import": ("_evidence", "import_group"),
    "fit": ("_fit", "fit"),
    "certify": ("_certificate", "certify"),
    "certificate": ("_certificate", "certificate"),
    "register": ("_registry", "register"),
    "review": ("_registry", "review"),
    "promote": ("_registry", "promote"),
    "rollback": ("_registry", "rollback"),
    "versions": ("_registry", "versions"),
    "plan": ("_plan", "plan"),
    "drift": ("_drift", "drift"),
    "export": ("_export", "export_group"),
    "sql": ("_evidence", "sql"),
    "push": ("_mirror", "push"),
    "pull": ("_mirror", "pull"),
    "ui": ("_mirror", "ui"),
    "recover": ("_evidence", "recover"),
    "verify": ("_evidence", "verify"),
    "rebuild": ("_evidence", "rebuild"),
    "prove": ("_evidence", "prove"),
    "protect": ("_mirror", "protect"),
}


class LazyGroup(click.Group):
    """A group whose verbs are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Verbs in the order in which they are used."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module."""
        if cmd_name not in VERBS:
            return None
        module, attribute = VERBS[cmd_name]
        command = getattr(import_module(f"tracker.cli.{module}"), attribute)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=LazyGroup, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("layoutledger"), prog_name="layoutledger")
def cli() -> None:
    """Measure layouts, keep every fact, fit a cost table you can trust, plan with it by version.

    \b
    Example:
      layoutledger quickstart
      layoutledger sql "select cell, state from cells"
    """


def main() -> None:
    """Entry point of the `layoutledger` program."""
    run(cli)
