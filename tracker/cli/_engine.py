"""`--engine` and `--address`: where the cells of a campaign run."""

import click

from tracker.cli._options import Command

# As `harness.engines.ENGINES`, which is not loaded for the sake of a help text.
_ENGINES = ("local", "ray")


def engine_options(command: Command) -> Command:
    """Where the cells run; see `harness.engines.open_engine`."""
    address = click.option(
        "--address",
        metavar="HOST:PORT",
        help="The Ray cluster; RAY_ADDRESS, or this machine alone, where omitted.",
    )
    engine = click.option(
        "--engine",
        type=click.Choice(_ENGINES),
        default="local",
        show_default=True,
        help="local: one cell after another on this machine; ray: many at a time, where a cluster has room.",
    )
    return engine(address(command))
