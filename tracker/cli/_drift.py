"""`drift`: two campaigns, before and after a change, and what production saw."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from schemas import GateFailedError
from tracker.cli._options import json_option, store_option
from tracker.cli._output import emit_json, print_table, say

if TYPE_CHECKING:
    from fit import Move, SelectionChange
    from tracker.drift import CampaignDrift, Production, TableVerdict, VersionVerdict

LISTED = 20
DIGEST = 64


@click.command()
@click.argument("before")
@click.argument("after")
@click.option("--version", type=click.IntRange(1), help="Judge this version instead of the promoted one.")
@click.option("--since", type=click.DateTime(), help="Split production here, UTC; else at AFTER's opening.")
@store_option
@json_option
def drift(
    before: str, after: str, version: int | None, since: datetime | None, store: Path, as_json: bool
) -> None:
    """Compare campaign BEFORE with campaign AFTER: which cells moved, what would be chosen now.

    Cells are matched by key. A time has moved when it lies further apart than 3% and than the noise of both
    medians; how many noise alone would flag is said beside it. The promoted version (alias champion) is
    judged on AFTER's evidence by AFTER's gates. What trainers observed (tracker.observe) stands beside it.

    Exit code: 0, or 5 when the version fails a gate on the new evidence or vouches for none of its cells.

    \b
    Examples:
      layoutledger drift driver-570 driver-580
      layoutledger drift cpu-quick cpu-quick-b --version 2 --json
    """
    from tracker._ledger import Ledger
    from tracker._versions import load_version
    from tracker.cli._drift_record import drift_record
    from tracker.drift import compare_campaigns, judge_version, production_drift, promoted_version

    ledger = Ledger(store).existing()
    found = compare_campaigns(ledger, before, after)
    loaded = promoted_version(ledger) if version is None else load_version(ledger, version=version)
    verdict = loaded and judge_version(
        loaded,
        "champion" if version is None else None,
        ledger.certified_cells(before),
        ledger.certified_cells(after),
        ledger.manifest(after).gates,
    )
    moment = f"{since.replace(tzinfo=UTC):%Y-%m-%dT%H:%M:%S.%fZ}" if since else ledger.opened(after)
    production = production_drift(ledger, moment)
    if as_json:
        emit_json(drift_record(found, verdict, production))
    else:
        show_times(found)
        show_selections(found)
        show_version(verdict)
        show_production(production)
    _refuse(verdict, after)


def show_times(found: "CampaignDrift") -> None:
    """What moved, the farthest first."""
    times = found.times
    rows = [
        (each.cell.name, each.cell.change_pct, each.cell.noise_pct, _farthest(each.candidates))
        for each in times.moved[:LISTED]
    ]
    print_table("Cells that moved", ("cell", "change %", "noise %", "farthest candidate"), rows)
    cells, candidates = len(times.cells), sum(len(each.candidates) for each in times.cells)
    say(
        f"{len(times.moved)} of {cells} cells moved, at most {times.cells_by_chance:.1f} by chance; "
        f"{times.candidates_moved} of {candidates} candidates, at most {times.candidates_by_chance:.1f}; "
        f"median change over all cells {times.overall_pct:+.2f}%"
    )
    for name, keys in ((found.before, found.only_before), (found.after, found.only_after)):
        if keys:
            say(f"only in {name}: {len(keys)} cells: {', '.join(keys[:LISTED])}")
    rows = [(c.part, _short(c.before), _short(c.after), len(c.cells)) for c in found.fingerprints]
    if rows:
        print_table("What differs in the fingerprints", ("part", "before", "after", "cells"), rows)
    else:
        say("the execution fingerprints are the same in every cell")


def show_selections(found: "CampaignDrift") -> None:
    """Which selections change."""
    _show_changes("Another candidate is fastest", found.winners)
    if found.selections is None:
        say(f"no tables to compare: {found.unfitted}")
    else:
        _show_changes("A table fitted anew takes another candidate", found.selections)


def show_version(verdict: "VersionVerdict | None") -> None:
    """How the version stands."""
    if verdict is None:
        say("no version is promoted (alias champion); --version names one to judge")
        return
    rows = [
        (
            table.table_id,
            len(table.cells),
            table.before and table.before.max_regret_pct,
            table.after.median_regret_pct,
            table.after.max_regret_pct,
            _percent(table.after.pairwise_accuracy),
            _gates(table),
        )
        for table in verdict.tables
    ]
    columns = ("table", "cells", "max regret % before", "median now", "max now", "order right %", "gates")
    print_table(f"Version {verdict.version} on the new evidence", columns, rows)
    for table in verdict.tables:
        for gate in table.gates:
            if not gate.passed:
                say(f"failed: {gate.gate} on {gate.group}: {gate.value}, limit {gate.limit}; {gate.detail}")
        if table.outside:
            say(f"outside its domain: {', '.join(table.cells[:LISTED])}: {table.outside}")


def show_production(production: "Production | None") -> None:
    """What trainers saw."""
    if production is None:
        say("no trainer told what it ran (tracker.observe)")
        return
    rows = [
        (
            place.place,
            f"{place.earlier} + {place.steps - place.earlier}",
            place.ratio,
            place.change and place.change.change_pct,
            place.change and place.change.noise_pct,
            "" if place.change is None else "moved" if place.change.moved else "within noise",
        )
        for place in production.places
    ]
    columns = ("version, table, place", "steps", "seen / predicted", "change %", "noise %", "")
    print_table(f"Production, before and after {production.since}", columns, rows)
    rows = [
        (place.place, layout.layout, layout.steps, layout.beside.change_pct, layout.beside.noise_pct)
        for place in production.places
        for layout in place.layouts
        if layout.beside.moved
    ]
    if rows:
        print_table("Priced unlike the others", ("place", "layout", "steps", "off by %", "noise %"), rows)
    rows = [
        (each.place, each.selected, each.tried, each.batches, each.gain.change_pct, each.gain.noise_pct)
        for each in production.alternatives
    ]
    if rows:
        columns = ("place", "selected", "tried", "batches", "selected slower by %", "noise %")
        print_table("Alternatives that were tried", columns, rows)
    say(
        f"{production.steps} steps compared, {production.unpriced} without a prediction, "
        f"{production.lost} observations lost"
    )


def _show_changes(title: str, changes: "tuple[SelectionChange, ...]") -> None:
    real = [change for change in changes if change.beyond_noise]
    if real:
        rows = [(c.key, c.before, c.after, c.cost_pct, c.noise_pct) for c in real[:LISTED]]
        print_table(title, ("cell", "before", "after", "staying costs %", "noise %"), rows)
    say(f"{title}: in {len(real)} cells, and in {len(changes) - len(real)} where the two are a tie")


def _short(text: str) -> str:
    """Digests by their beginning."""
    return text[:12] if len(text) == DIGEST and text.isalnum() else text


def _farthest(moves: "tuple[Move, ...]") -> str:
    move = max(moves, key=lambda each: abs(each.change_pct))
    return f"{move.name} {move.change_pct:+.1f}%"


def _gates(table: "TableVerdict") -> str:
    if not table.gates:
        return "not judged"
    return f"{sum(gate.passed for gate in table.gates)} of {len(table.gates)} passed"


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _refuse(verdict: "VersionVerdict | None", after: str) -> None:
    if verdict is None or verdict.passed:
        return
    failed = sum(not gate.passed for table in verdict.tables for gate in table.gates)
    what = f"fails {failed} gates" if failed else "vouches for none of the cells"
    raise GateFailedError(
        f"version {verdict.version} {what} on the evidence of {after}: fit and certify {after}, or "
        "`layoutledger rollback`"
    )
