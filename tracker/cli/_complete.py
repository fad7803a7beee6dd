"""What the shell offers after a verb: campaigns, cells, versions, aliases, digests; read from the log alone.

A key pressed must cost little: lines are read without verification, and what cannot be read is not offered.
"""

import json
import os
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from schemas import LayoutLedgerError

MODEL = "layout-cost"
MOST_SEGMENTS = 500
MOST_LINES = 3
"""A unit that ends in one event has it on the line after `segment.opened`."""

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def campaigns(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Campaigns in the ledger."""
    return _offer(incomplete, lambda: (name for name in _log(ctx).campaigns() if name != MODEL))


def campaigns_or_files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Campaigns that come with the tool, and files."""

    def shipped() -> Iterator[str]:
        from harness import campaign_names

        yield from campaign_names()

    return [*_offer(incomplete, shipped), CompletionItem(incomplete, type="file")]


def cells(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Cells of the campaign that was named, or of the ledger's only one."""

    def keys() -> Iterator[str]:
        from schemas import Manifest

        named = ctx.params.get("campaign")
        names = [named] if named else [name for name in _log(ctx).campaigns() if name != MODEL]
        for event in _events(ctx, names[0]) if len(names) == 1 else ():
            if event["type"] == "campaign.opened":
                yield from Manifest.parse(event["data"]["manifest"], where=names[0]).keys
                return

    return _offer(incomplete, keys)


def versions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Versions that the log knows."""
    return _offer(incomplete, lambda: _values(ctx, MODEL, "version.registered", "version"))


def aliases(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Aliases that were moved, and those that a newcomer would give."""

    def names() -> Iterator[str]:
        yield from ("champion", "candidate")
        yield from _values(ctx, MODEL, "alias.moved", "alias")

    return _offer(incomplete, names)


def certificates(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """First digits of the issued certificates' digests."""

    def digests() -> Iterator[str]:
        for name in _log(ctx).campaigns():
            for digest in _values(ctx, name, "certificate.issued", "digest"):
                yield digest[:12]

    return _offer(incomplete, digests)


def held(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Versions and certificates: what can be held."""
    return [*versions(ctx, param, incomplete), *certificates(ctx, param, incomplete)]


def _offer(incomplete: str, names: Callable[[], Iterator[str]]) -> list[CompletionItem]:
    try:
        found = list(dict.fromkeys(name for name in names() if name.startswith(incomplete)))
    except (LayoutLedgerError, OSError, ValueError, KeyError, TypeError):
        return []
    # zsh and fish quote what they insert; bash inserts it as it is, and a cell's key holds pipes.
    in_bash = os.environ.get("_LAYOUTLEDGER_COMPLETE", "").startswith("bash")
    return [CompletionItem(shlex.quote(name) if in_bash else name) for name in found]


def _log(ctx: click.Context) -> Any:
    from tracker._settings import read_settings
    from tracker.log import Log

    store = ctx.params.get("store")
    if store is None or ctx.get_parameter_source("store") is not ParameterSource.COMMANDLINE:
        store = next(each.value for each in read_settings(Path.cwd()) if each.name == "store")
    return Log(Path(store))


def _values(ctx: click.Context, campaign: str, type_: str, field: str) -> Iterator[str]:
    for event in _events(ctx, campaign):
        if event["type"] == type_:
            yield str(event["data"][field])


def _events(ctx: click.Context, campaign: str) -> Iterator[dict[str, Any]]:
    """The first lines of a campaign's segments."""
    for place in _log(ctx).segments(campaign)[:MOST_SEGMENTS]:
        with place.path.open("rb") as lines:
            for _, line in zip(range(MOST_LINES), lines, strict=False):
                yield json.loads(line)
