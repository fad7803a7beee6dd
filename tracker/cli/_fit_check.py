"""What `fit check` says: to people in tables, to scripts in one document."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas import InvalidInputError, StoreUnavailableError
from tracker.cli._output import print_table, say

if TYPE_CHECKING:
    from fit import Prospect, SelectorVerdict
    from schemas import Manifest
    from tracker._selecting import CampaignSearch

COLUMNS = ("cell", "selects", "fastest", "regret %", "timed automatic regret %", "shared segments")


def search_record(found: "CampaignSearch") -> dict[str, Any]:
    """The search for scripts; `to_measure` holds plans that a campaign can take as they are."""
    return {
        "fit": found.fit,
        "table_digest": found.result.table_digest,
        "cells": [verdict_record(verdict) for verdict in found.verdicts],
        "outside": [verdict.key for verdict in found.verdicts if verdict.selected is None],
        "unsearched": list(found.unsearched),
        "to_measure": [plan.plain() for plan in found.to_measure],
    }


def verdict_record(verdict: "SelectorVerdict") -> dict[str, Any]:
    """A cell's line for scripts."""
    return {
        "cell": verdict.key,
        "decisions": list(verdict.decisions),
        "labels": list(verdict.labels),
        "selected": verdict.selected,
        "best": verdict.best,
        "regret_pct": verdict.regret_pct,
        "automatic_regret_pct": verdict.automatic_regret_pct,
    }


def prospect_record(found: "Prospect") -> dict[str, Any]:
    """A prospective check for scripts."""
    return {
        "method": found.table.method,
        "table": dict(found.table.coefficients),
        "cells": [verdict_record(verdict) for verdict in found.verdicts],
        "selected": asdict(found.selected) if found.selected else None,
        "automatic": asdict(found.automatic) if found.automatic else None,
        "unmeasured": list(found.unmeasured),
    }


def show_search(found: "CampaignSearch") -> None:
    """The search for people."""
    say(f"fit {found.fit}, table {found.result.table_digest[:12]}, the real search on each cell")
    print_table("Selections", COLUMNS, [_row(verdict) for verdict in found.verdicts])
    for verdict in found.verdicts:
        if verdict.selected is None:
            say(f"outside what was measured, measure it next: {verdict.key}")
    if found.unsearched:
        say(f"{len(found.unsearched)} cells have no rows to search")


def write_follow_up(manifest: "Manifest | None", path: Path) -> None:
    """Write the campaign that measures what was selected; nothing where all was measured.

    Raises:
        InvalidInputError: a file that `campaign run` would not take for a manifest.
        StoreUnavailableError: it cannot be written.
    """
    if path.suffix != ".json":
        raise InvalidInputError(f"{path}: the campaign is written as JSON; name a file that ends in .json")
    if manifest is None:
        say(f"every selection was measured: {path} is not written")
        return
    try:
        text = json.dumps(manifest.plain(), indent=1, sort_keys=True, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise StoreUnavailableError(
            f"{path}: cannot be written: {error.strerror or error}; name a file in another folder"
        ) from error
    say(f"written: {path}, {len(manifest.cells)} cells; next: layoutledger campaign run {path}")


def show_prospect(found: "Prospect") -> None:
    """A prospective check for people."""
    print_table(
        "Cells measured later, by a table of the earlier",
        COLUMNS,
        [_row(verdict) for verdict in found.verdicts],
    )
    rows = [
        (name, summary.cells, summary.mean_pct, summary.p95_pct, summary.max_pct)
        for name, summary in (("selected", found.selected), ("timed automatic", found.automatic))
        if summary
    ]
    print_table("Regret over the later cells", ("of the", "cells", "mean %", "p95 %", "max %"), rows)
    if found.unmeasured:
        say(f"{len(found.unmeasured)} selections were never measured")


def _row(verdict: "SelectorVerdict") -> tuple[object, ...]:
    return (
        verdict.key,
        verdict.selected or "(not measured)",
        verdict.best,
        verdict.regret_pct,
        verdict.automatic_regret_pct,
        len(verdict.decisions),
    )
