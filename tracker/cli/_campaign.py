"""`campaign`: list, show, run, resume, status."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.progress import TaskID

from schemas import CampaignFailedError, InvalidInputError, require_module
from tracker.cli import _complete as complete
from tracker.cli._engine import engine_options
from tracker.cli._options import json_option, store_option
from tracker.cli._output import emit_json, print_table, progress, say
from tracker.cli._verbs import Verbs

cells_option = click.option(
    "--cell", "cells", multiple=True, metavar="KEY", help="Only this cell; may be given several times."
)


@click.group(cls=Verbs)
def campaign() -> None:
    """Measure the cells of a campaign; see what is there and what is missing."""


@campaign.command("list")
@store_option
@json_option
def list_campaigns(store: Path, as_json: bool) -> None:
    """List the campaigns in the ledger, and those that come with the tool.

    \b
    Example: layoutledger campaign list
    """
    from harness import campaign_names
    from tracker._ledger import Ledger

    recorded = Ledger(store).campaign_states()
    shipped = campaign_names()
    if as_json:
        emit_json({"recorded": recorded, "shipped": list(shipped)})
        return
    columns = ("campaign", "cells", "measured", "failed", "excluded", "missing")
    print_table("In the ledger", columns, [[state[column] for column in columns] for state in recorded])
    say("Shipped with the tool: " + ", ".join(shipped))


@campaign.command()
@click.argument("name", shell_complete=complete.campaigns)
@store_option
@json_option
def show(name: str, store: Path, as_json: bool) -> None:
    """Show a recorded campaign's manifest: cells, protocol, holdout, gates.

    \b
    Example: layoutledger campaign show cpu-quick
    """
    from tracker._ledger import Ledger

    manifest = Ledger(store).manifest(name)
    if as_json:
        emit_json(manifest.plain() | {"digest": manifest.digest})
        return
    held = set(manifest.holdout_keys())
    rows = [
        (plan.identity.key, plan.workload.kind, "held out" if plan.identity.key in held else "")
        for plan in manifest.cells
    ]
    print_table(manifest.title, ("cell", "workload", "holdout"), rows)
    for part in (manifest.protocol, manifest.holdout, manifest.fit, manifest.gates):
        say(f"{type(part).__name__}: {part.plain()}")
    say(f"manifest digest: {manifest.digest}")


@campaign.command("run")
@click.argument("name_or_file", shell_complete=complete.campaigns_or_files)
@cells_option
@click.option("--digest", metavar="SHA256", help="Refuse if the manifest's sha256 does not begin with this.")
@engine_options
@store_option
@json_option
def run_command(
    name_or_file: str,
    cells: tuple[str, ...],
    digest: str | None,
    engine: str,
    address: str | None,
    store: Path,
    as_json: bool,
) -> None:
    """Register a campaign (a shipped name, a TOML file or a manifest), then measure its cells.

    What is measured already is skipped; a failed cell does not stop the others. On a cluster a cell runs
    where its processors or GPUs are free; this process alone writes the ledger.

    \b
    Examples:
      layoutledger campaign run cpu-quick
      layoutledger campaign run cpu-quick --cell 'chain-8|hybrid-tiny|L4|tp1|cp1'
      layoutledger campaign run my-campaign.toml --engine ray --address head:6379
    """
    require_module("torch")
    from harness import idle_holdout_names, load_campaign, open_engine
    from tracker._campaigns import open_campaign, require_cells
    from tracker._ledger import Ledger

    ledger = Ledger(store)
    manifest = load_campaign(name_or_file)
    if not manifest.digest.startswith(digest or ""):
        raise InvalidInputError(
            f"{name_or_file}: its manifest is {manifest.digest}, not {digest}; "
            "write the runner again with `layoutledger recipe`, or take the file that it was written with"
        )
    require_cells(manifest, cells)
    for name in idle_holdout_names(manifest):
        say(f"note: holdout names {name!r}, which is part of no cell's key")
    with open_engine(engine, address=address) as place:
        new = open_campaign(ledger, manifest)
        state = "registered" if new else "registered before"
        say(f"campaign {manifest.campaign}: {state}, {len(manifest.cells)} cells")
        measure(ledger, manifest.campaign, cells, engine=place, as_json=as_json)


@campaign.command()
@click.argument("name", shell_complete=complete.campaigns)
@cells_option
@engine_options
@store_option
@json_option
def resume(
    name: str, cells: tuple[str, ...], engine: str, address: str | None, store: Path, as_json: bool
) -> None:
    """Measure the cells of a recorded campaign that are still missing.

    \b
    Example: layoutledger campaign resume cpu-quick
    """
    from harness import open_engine
    from tracker._ledger import Ledger

    ledger = Ledger(store)
    ledger.manifest(name)
    with open_engine(engine, address=address) as place:
        measure(ledger, name, cells, engine=place, as_json=as_json)


@campaign.command()
@click.argument("name", shell_complete=complete.campaigns)
@store_option
@json_option
def status(name: str, store: Path, as_json: bool) -> None:
    """Say for each expected cell what became of it, and how steady its attempt was.

    `drift` is the change from the first round to the last where it is more than chance and more than a tie;
    `stalls` counts usable samples far above their candidate's median (views `attempt_drift` and `stalls`).
    A terminal shows them among the remarks; a pipe gets a column each.

    \b
    Example: layoutledger campaign status cpu-quick --json
    """
    from tracker._ledger import Ledger

    ledger = Ledger(store)
    cells = ledger.cell_states(name)
    if as_json:
        emit_json(cells)
        return
    if sys.stdout.isatty():
        rows = [(cell["cell"], cell["state"], cell["usable_samples"], remarks(cell)) for cell in cells]
        print_table(f"Campaign {name}", ("cell", "state", "usable samples", "remarks"), rows)
        return
    columns = (
        "cell",
        "state",
        "held_out",
        "attempts",
        "failed_attempts",
        "usable_samples",
        "stalls",
        "drift",
        "exclusion_reason",
    )
    told = [{**cell, "stalls": cell["stalled_samples"] or "", "drift": _drift(cell)} for cell in cells]
    print_table("", columns, [[row.get(column) for column in columns] for row in told])


def remarks(cell: Mapping[str, Any]) -> str:
    """What sets a cell of `campaign status --json` apart from one measured at once and undisturbed."""
    told = (
        "held out" if cell["held_out"] else "",
        f"{cell['failed_attempts']} of {cell['attempts']} attempts failed" if cell["failed_attempts"] else "",
        f"{cell['stalled_samples']} stalled" if cell["stalled_samples"] else "",
        f"drift {_drift(cell)}" if cell["drifting"] else "",
        f"excluded: {cell['exclusion_reason']}" if cell["exclusion_reason"] else "",
    )
    return ", ".join(remark for remark in told if remark)


def _drift(cell: Mapping[str, Any]) -> str:
    return f"{cell['drift_pct']:+.0f}%" if cell["drifting"] else ""


def measure(
    ledger: Any, name: str, cells: tuple[str, ...] = (), *, engine: Any = None, as_json: bool = False
) -> None:
    """Run what is missing under a progress bar.

    Raises:
        CampaignFailedError: cells failed or were left; they are recorded.
    """
    from tracker._measuring import measure_campaign

    with progress() as bar:
        watch = ProgressLines(bar)
        summary = measure_campaign(ledger, name, cells=cells, engine=engine, progress=watch)
    if as_json:
        emit_json(
            {
                "completed": list(summary.completed),
                "failed": summary.failed,
                "skipped": list(summary.skipped),
                "not_run": list(summary.not_run),
                "wall_s": summary.wall_s,
            }
        )
    say(
        f"campaign {name}: {len(summary.completed)} cells measured, {len(summary.skipped)} were there, "
        f"{len(summary.failed)} failed, {len(summary.not_run)} not run; {summary.wall_s:.0f} s"
    )
    if summary.interrupted:
        say(f"interrupted by {summary.interrupted}")
    if not summary.ok:
        raise CampaignFailedError(campaign_failure(name, summary, resume=f"campaign resume {name}"))


def campaign_failure(name: str, summary: Any, *, resume: str) -> str:
    """What to tell of cells that failed or were left, and what to do: `resume` is the verb that goes on."""
    failed = "".join(f"\n  {cell}: {kind}" for cell, kind in summary.failed.items())
    left = f"\n  {len(summary.not_run)} cells not run" if summary.not_run else ""
    return (
        f"campaign {name} is not complete{failed}{left}\n"
        f"see `layoutledger campaign status {name}`, mend the cause, then `layoutledger {resume}` "
        "(or `layoutledger exclude` with a reason)"
    )


class ProgressLines:
    """Told of each cell by the runner: a bar on a terminal, a line a cell when piped."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._ended: set[str] = set()
        self._cells: TaskID | None = None
        self._samples: TaskID | None = None

    def __call__(self, event: Any) -> None:
        """Take one `CellProgress`."""
        if self._cells is None or self._samples is None:
            self._cells = self._bar.add_task("cells", total=event.total)
            self._samples = self._bar.add_task("", total=None)
        total = event.expected or None
        self._bar.update(self._samples, description=event.cell, completed=event.samples, total=total)
        if event.state in ("completed", "failed"):
            # Not the cell's place in the manifest: an engine may run them in any order, or one twice.
            self._ended.add(event.cell)
            self._bar.update(self._cells, completed=len(self._ended))
            text = f"[{event.index}/{event.total}] {event.cell}: {event.state} {event.message}".rstrip()
            if self._bar.disable:
                say(text)
            else:
                self._bar.console.print(text, markup=False, highlight=False)
