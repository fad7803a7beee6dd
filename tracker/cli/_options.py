"""Options that many commands share."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_STORE = "ledger"


def store_option(command: Command) -> Command:
    """`--store`: the ledger's folder, made where it is missing."""
    return click.option(
        "--store",
        type=click.Path(path_type=Path, file_okay=False),
        default=DEFAULT_STORE,
        envvar="LAYOUTLEDGER_STORE",
        show_default=True,
        show_envvar=True,
        help="The ledger's folder.",
    )(command)


def named(store: Path) -> str:
    """How a command that is shown to people names the store; nothing where it is the one by default."""
    return "" if str(store) == DEFAULT_STORE else f" --store {shlex.quote(str(store))}"


def json_option(command: Command) -> Command:
    """`--json`: one JSON document instead of text."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(command)


def by_option(command: Command) -> Command:
    """`--by`: who does it; the login name where omitted."""
    return click.option(
        "--by",
        default=_login,
        envvar="LAYOUTLEDGER_BY",
        show_default="login name",
        show_envvar=True,
        help="Who does this; goes into the record.",
    )(command)


def _login() -> str:
    import getpass

    return getpass.getuser()
