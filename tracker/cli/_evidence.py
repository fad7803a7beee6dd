"""`exclude`, `import`, `sql`, `recover`, `verify`: the evidence and its integrity."""

import sys
from dataclasses import asdict, replace
from pathlib import Path

import click

from schemas import CorruptionError, StoreUnavailableError
from tracker.cli import _complete as complete
from tracker.cli._options import by_option, json_option, store_option
from tracker.cli._output import emit_json, print_table, say
from tracker.cli._verbs import Verbs
from tracker.cli._visible import visible


@click.command()
@click.argument("campaign", shell_complete=complete.campaigns)
@click.argument("cell", shell_complete=complete.cells)
@click.option("--reason", required=True, help="Why; a reviewer will read it.")
@click.option("--reference", default="", help="An issue, a log, a page that backs the reason.")
@by_option
@store_option
@json_option
def exclude(
    campaign: str, cell: str, reason: str, reference: str, by: str, store: Path, as_json: bool
) -> None:
    """Take CELL out of CAMPAIGN's fit, with a reason; the certificate lists it.

    \b
    Example: layoutledger exclude cpu-quick "chain-4|hybrid-tiny|L4|tp1|cp2" --reason "rank 1 throttled"
    """
    from tracker._exclusions import exclude_cell
    from tracker._ledger import Ledger

    excluded = exclude_cell(
        Ledger(store).existing(), campaign, cell, reason=reason, reference=reference, by=by
    )
    if as_json:
        emit_json(excluded.plain())
    else:
        say(f"excluded from {campaign}: {cell}")


@click.group("import", cls=Verbs)
def import_group() -> None:
    """Bring evidence that another project measured into the ledger."""


@import_group.command("art-certificate")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--campaign", help="Name of the campaign to make; the file's table id where omitted.")
@store_option
@json_option
def art_certificate(file: Path, campaign: str | None, store: Path, as_json: bool) -> None:
    """Import a calibration certificate of OpenPipe/ART (schema v1); the same file again changes nothing.

    \b
    Example: layoutledger import art-certificate h200-dense-h2560.certificate.json
    """
    from tracker._imports import import_evidence
    from tracker._ledger import Ledger
    from tracker.importers import read_art_certificate

    evidence = read_art_certificate(file, campaign=campaign)
    new = import_evidence(Ledger(store), evidence)
    name, cells = evidence.manifest.campaign, len(evidence.cells)
    if as_json:
        emit_json({"campaign": name, "cells": cells, "imported": new})
        return
    held = len(evidence.manifest.holdout_keys())
    state = "imported" if new else "imported before, nothing changed"
    say(f"campaign {name}: {cells} cells, {held} of them held out: {state}")
    say(f"next: layoutledger fit {name}")


@import_group.command("art-jsonl")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--campaign", required=True, help="Name of the campaign to make.")
@click.option("--table", "table_id", help="Id of the table to calibrate; the campaign's name where omitted.")
@click.option(
    "--holdout", multiple=True, required=True, help="Hold out cells whose key has this; repeatable."
)
@click.option(
    "--term", "terms", multiple=True, help="Let a fit use this term; all where omitted; repeatable."
)
@click.option("--required", type=click.IntRange(1), default=5, show_default=True, help="Samples a candidate.")
@store_option
@json_option
def art_jsonl(
    files: tuple[Path, ...],
    campaign: str,
    table_id: str | None,
    holdout: tuple[str, ...],
    terms: tuple[str, ...],
    required: int,
    store: Path,
    as_json: bool,
) -> None:
    """Import calibration records of OpenPipe/ART (JSON lines); the same files again change nothing.

    Medians are computed from the samples that count: measured, not compiled, not split, not refused. What
    became of the others is kept with the import; a cell that lacks a candidate is recorded as failed.

    \b
    Example: layoutledger import art-jsonl calibration.jsonl --campaign h200-moe --holdout "cp4|g4"
    """
    from tracker._imports import import_evidence
    from tracker._ledger import Ledger
    from tracker.importers import ImportTerms, read_art_jsonl

    fixed = ImportTerms(campaign, table_id or campaign, holdout, required=required)
    evidence = read_art_jsonl(files, replace(fixed, terms=terms) if terms else fixed)
    new = import_evidence(Ledger(store), evidence)
    failed = {failure.cell: failure.message for failure in evidence.failed}
    if as_json:
        emit_json({"campaign": campaign, "cells": len(evidence.cells), "failed": failed, "imported": new})
        return
    held = len(evidence.manifest.holdout_keys())
    state = "imported" if new else "imported before, nothing changed"
    say(f"campaign {campaign}: {len(evidence.cells)} cells, {held} held out: {state}")
    for cell, message in failed.items():
        say(f"not measured in full: {cell}: {message}")
    say(f"next: layoutledger fit {campaign}")


@click.command()
@click.argument("query")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="How rows are printed.",
)
@click.option("--json", "form", flag_value="json", help="The same as --format json.")
@click.option("--parquet", type=click.Path(path_type=Path), help="Write the rows to this Parquet file.")
@click.option("--allow-files", is_flag=True, help="Let the query read other files.")
@store_option
def sql(query: str, form: str, parquet: Path | None, allow_files: bool, store: Path) -> None:
    """Ask the evidence in DuckDB's SQL; read-only. `from events` and the other views are there.

    \b
    Examples:
      layoutledger sql "select cell, candidate, median_ms from candidate_medians order by all"
      layoutledger sql "select kind, count(*) from failures group by all" --format json
    """
    from tracker._ledger import Ledger
    from tracker.warehouse import as_csv, as_json, as_text, write_parquet

    answer = Ledger(store).existing().warehouse.query(query, allow_files=allow_files)
    if parquet is not None:
        write_parquet(answer, parquet)
        say(f"written: {parquet}")
    else:
        written = {"csv": as_csv, "json": as_json, "table": as_text}[form](answer)
        # Rows for a script stay as they are.
        lined = form == "table" or sys.stdout.isatty()
        shown = visible(written) if lined else written
        click.echo(shown, nl=not shown.endswith("\n"), color=True)


@click.command()
@store_option
@json_option
def recover(store: Path, as_json: bool) -> None:
    """Close what dead writers left open: cut torn tails, end attempts as interrupted; again changes nothing.

    \b
    Example: layoutledger recover
    """
    from tracker._ledger import Ledger
    from tracker.log import recover as recover_log

    recovery = recover_log(Ledger(store).existing().log)
    if as_json:
        emit_json(asdict(recovery))
        return
    for segment in recovery.sealed:
        kept = f"{segment.kept} events kept, {segment.cut_bytes} bytes cut"
        say(f"sealed: {segment.path} ({segment.unit}), {kept}")
    for path in recovery.live:
        say(f"left alone, a live writer holds it: {path}")
    say(f"{len(recovery.sealed)} segments sealed, {len(recovery.live)} live")


@click.command()
@store_option
@json_option
def verify(store: Path, as_json: bool) -> None:
    """Recheck every line, seal, Parquet file and mirrored run; report what drifted, and where.

    \b
    Example: layoutledger verify --json
    """
    from tracker._ledger import Ledger
    from tracker._verification import verify_ledger

    ledger = Ledger(store).existing()
    findings = verify_ledger(ledger)
    if as_json:
        emit_json({"passed": not findings, "findings": [finding.plain() for finding in findings]})
    else:
        rows = [(f.what, f.where, f.expected, f.found) for f in findings]
        if rows:
            print_table("Findings", ("what", "where", "expected", "found"), rows)
        say(f"{len(findings)} findings")
    if findings:
        raise CorruptionError(
            f"{store}: {len(findings)} findings; nothing was changed. `layoutledger push` makes lost runs, "
            "`layoutledger rebuild` what else comes from the log; restore files of the log from a copy"
        )


@click.command()
@store_option
@json_option
def rebuild(store: Path, as_json: bool) -> None:
    """Make views, certificate files, runs, versions and aliases again from the log alone.

    What stands already stays. Versions get the numbers that were recorded; where the registry would give
    others, that is said before any alias is set.

    \b
    Example: layoutledger rebuild
    """
    from tracker._ledger import Ledger
    from tracker._rebuilding import rebuild_ledger

    done = rebuild_ledger(Ledger(store).existing())
    mirrored, registry = done.mirrored, done.registry
    failed = [f"{failure.segment}: {failure.reason}" for failure in mirrored.failed]
    if as_json:
        emit_json(
            {
                "segments": asdict(done.warehouse),
                "certificates": list(done.certificates),
                "runs_created": list(mirrored.created),
                "uri": mirrored.uri,
                "versions": list(registry.versions),
                "aliases": dict(registry.aliases),
                "failed": failed,
            }
        )
    else:
        say(f"warehouse made again; {len(done.certificates)} certificate files written")
        say(f"{len(mirrored.created)} runs made, {mirrored.unchanged} unchanged in {mirrored.uri}")
        say(f"versions made again: {', '.join(map(str, registry.versions)) or 'none, all are there'}")
        for alias, version in registry.aliases.items():
            say(f"{alias}: version {version}")
    if failed:
        raise StoreUnavailableError("not mirrored:\n  " + "\n  ".join(failed))


@click.command()
@click.argument("segment")
@click.argument("seq", type=click.IntRange(0))
@store_option
def prove(segment: str, seq: int, store: Path) -> None:
    """Print the proof that event SEQ of SEGMENT stands in its campaign; checkable without the ledger.

    `layoutledger sql "select segment, seq from events where type = 'sample.recorded'"` lists samples.

    \b
    Example: layoutledger prove 01JZ3V8Q6N5T4S3R2P1M0K9J8H 12
    """
    from tracker._ledger import Ledger
    from tracker.log import inclusion_proof

    emit_json(inclusion_proof(Ledger(store).existing().log, segment, seq))
