"""How commands speak: tables and plain lines for people, one JSON document for scripts."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from schemas import redact, redact_plain
from tracker.cli._visible import visible, visible_line


def console() -> Console:
    """Standard output; plain text, and never cut, when it is not a terminal."""
    return Console(soft_wrap=not sys.stdout.isatty(), highlight=False, markup=False)


def emit_json(value: Any) -> None:
    """One JSON document on standard output."""
    click.echo(json.dumps(redact_plain(value), indent=2, sort_keys=True, default=str))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table on a terminal, tab-separated lines when piped."""
    if not sys.stdout.isatty():
        click.echo("\t".join(columns))
        for row in rows:
            click.echo("\t".join(_cell(value) for value in row))
        return
    terminal = console()
    if title:
        terminal.print(title, style="table.title")
    terminal.print(_drawn(terminal, columns, [[_cell(value) for value in row] for row in rows]))


def _drawn(terminal: Console, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """The table, without its grid where the terminal is too narrow for it."""
    table = Table(header_style="bold")
    for column in columns:
        # At an underscore no line is broken; at a space it is.
        table.add_column(column.replace("_", " "), overflow="fold")
    for row in rows:
        table.add_row(*row)
    if terminal.measure(table).maximum >= terminal.width:
        table.box, table.show_edge = SIMPLE_HEAD, False
        # What names a row is copied from there into the next command.
        table.columns[0].no_wrap = max((len(row[0]) for row in rows), default=0) <= terminal.width // 2
    return table


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    # A line is a row: what would break it is shown escaped.
    text = f"{value:.2f}" if isinstance(value, float) else redact(str(value))
    return visible_line(text)


class _Description(ProgressColumn):
    """What a bar is about: the key of a cell is no markup."""

    def render(self, task: Task) -> Text:
        return Text(visible_line(task.description))


def progress() -> Progress:
    """A progress bar on standard error; silent where that is not a terminal."""
    stderr = Console(stderr=True)
    return Progress(
        SpinnerColumn(),
        _Description(),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=stderr,
        disable=not stderr.is_terminal,
    )


def say(text: str) -> None:
    """A line for people on standard error, so that standard output stays for results."""
    click.echo(visible(redact(text)), err=True)
