"""`plan`: what coefficient versions pick for a batch, side by side."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import click

from schemas import InvalidInputError
from tracker.cli import _complete as complete
from tracker.cli._options import json_option, store_option
from tracker.cli._output import emit_json, print_table, say

if TYPE_CHECKING:
    from tracker._planning import PlannedPick

COLUMNS = ("version", "layout", "shared", "packed tokens", "segments", "levels", "measured ms", "over best %")


@click.command()
@click.option(
    "--version",
    "versions",
    type=int,
    multiple=True,
    shell_complete=complete.versions,
    help="A registered version; may be repeated.",
)
@click.option("--alias", shell_complete=complete.aliases, help="The version that this alias names.")
@click.option(
    "--campaign",
    shell_complete=complete.campaigns,
    help="Whose cell gives the batch; the ledger's only one where omitted.",
)
@click.option(
    "--cell",
    shell_complete=complete.cells,
    help="The measured cell whose rows to plan; the first held-out one where omitted.",
)
@click.option(
    "--rows",
    type=click.Path(path_type=Path),
    help="Plan this file instead: JSON Lines, a list of token ids a line.",
)
@click.option("--tp", default=1, show_default=True, type=click.IntRange(1), help="With --rows.")
@click.option("--cp", default=1, show_default=True, type=click.IntRange(1), help="With --rows.")
@click.option("--layers", default=32, show_default=True, type=click.IntRange(1), help="With --rows.")
@click.option("--gdn-layers", default=0, show_default=True, type=click.IntRange(0), help="With --rows.")
@store_option
@json_option
def plan(
    versions: tuple[int, ...],
    alias: str | None,
    campaign: str | None,
    cell: str | None,
    rows: Path | None,
    tp: int,
    cp: int,
    layers: int,
    gdn_layers: int,
    store: Path,
    as_json: bool,
) -> None:
    """Plan one batch with registered versions beside version 1, the hand-set score.

    \b
    Examples:
      layoutledger plan --version 2
      layoutledger plan --alias champion --rows batch.jsonl --cp 4 --layers 32 --gdn-layers 24
    """
    from harness import cell_rows
    from planner import ScoringFacts
    from tracker._ledger import Ledger
    from tracker._planning import compare_picks, find_cell, held_out_cell

    ledger = Ledger(store)
    tables = load_tables(ledger, versions, alias)
    if rows is not None:
        if gdn_layers > layers:
            raise InvalidInputError(f"--gdn-layers {gdn_layers}: the model has {layers} layers (--layers)")
        facts = ScoringFacts(
            cp_size=cp, tp_size=tp, layers=layers, gdn_layers=gdn_layers, uses_gdn=gdn_layers > 0
        )
        title, picks = str(rows), compare_picks(read_rows(rows), facts, tables)
    else:
        name = ledger.only_campaign(campaign)
        cell_plan, measured = find_cell(ledger, name, cell or held_out_cell(ledger, name))
        title = measured.cell
        picks = compare_picks(cell_rows(cell_plan), ScoringFacts.of_cell(measured.facts), tables, measured)
    if as_json:
        emit_json({"batch": title, "picks": pick_records(picks)})
        return
    show_picks(title, picks)


def pick_records(picks: Sequence["PlannedPick"]) -> list[dict[str, Any]]:
    """The picks for scripts."""
    return [asdict(pick) for pick in picks]


def show_picks(title: str, picks: Sequence["PlannedPick"]) -> None:
    """The picks as a table."""
    say(f"batch: {title}")
    rows = [
        (
            pick.version,
            pick.label,
            len(pick.decisions),
            pick.packed_tokens,
            pick.segments,
            pick.max_depth,
            pick.measured_ms,
            pick.over_best_pct,
        )
        for pick in picks
    ]
    print_table("", COLUMNS, rows)


def load_tables(
    ledger: Any, versions: tuple[int, ...], alias: str | None
) -> Mapping[int, Mapping[str, int] | None]:
    """Coefficients by version number; version 1 first, whatever else is asked for."""
    from tracker._versions import load_version

    loaded = [load_version(ledger, version=version) for version in versions if version != 1]
    if alias:
        loaded.append(load_version(ledger, alias=alias))
    tables: dict[int, Mapping[str, int] | None] = {1: None}
    for version in loaded:
        assert version.version is not None
        tables[version.version] = version.tables[0].coefficients if version.tables else None
    return tables


def read_rows(path: Path) -> list[list[int]]:
    """Token rows of a JSON Lines file.

    Raises:
        InvalidInputError: unreadable, or a line that is no list of token ids; names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path}: cannot be read as text: {error}; give JSON Lines") from error
    rows: list[list[int]] = []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"{path}:{number}: not JSON: {error}") from error
        if not is_row(row):
            raise InvalidInputError(
                f"{path}:{number}: expected a list of 64-bit token ids, such as [1, 5, 7]"
            )
        rows.append(row)
    if not rows:
        raise InvalidInputError(f"{path}: no rows; write one list of token ids a line")
    return rows


def is_row(value: object) -> TypeGuard[list[int]]:
    """Whether a JSON value is a non-empty list of token ids."""
    return (
        isinstance(value, list)
        and value != []
        and all(type(t) is int and abs(t) < 2**63 for t in cast("list[object]", value))
    )
