"""`certify` and `certificate`: bind a table to its evidence; recompute what a certificate says."""

from pathlib import Path

import click

from schemas import CorruptionError
from tracker.cli._options import json_option, store_option
from tracker.cli._output import emit_json, print_table, say


@click.command()
@click.argument("campaign", required=False)
@click.option("--fit", "fit_id", help="Certify this fit; the latest one where omitted.")
@store_option
@json_option
def certify(campaign: str | None, fit_id: str | None, store: Path, as_json: bool) -> None:
    """Issue the certificate of a fit that passed its gates; record a refusal otherwise.

    \b
    Example: layoutledger certify cpu-quick
    """
    from tracker._certificates import certify_fit
    from tracker._ledger import Ledger

    ledger = Ledger(store)
    issued = certify_fit(ledger, ledger.only_campaign(campaign), fit_id)
    if as_json:
        emit_json({"digest": issued.digest, "file": str(issued.path)})
        return
    say(f"certificate {issued.digest}")
    click.echo(issued.path)


@click.group()
def certificate() -> None:
    """Show, check and export certificates."""


@certificate.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--refit", is_flag=True, help="Repeat the fit too and demand identical integers.")
@store_option
@json_option
def check(file: Path, refit: bool, store: Path, as_json: bool) -> None:
    """Recompute everything that a certificate FILE says.

    From the log, where the ledger holds its campaign; else from the file alone, and it says so.

    \b
    Example: layoutledger certificate check ledger/certificates/cpu-quick-1a2b3c4d5e6f.json --refit
    """
    from tracker._certificates import check_certificate
    from tracker._ledger import Ledger

    digest, checks = check_certificate(file, Ledger(store), refit=refit)
    failed = [item for item in checks if not item.passed]
    if as_json:
        items = [{"name": c.name, "passed": c.passed, "detail": c.detail} for c in checks]
        emit_json({"digest": digest, "passed": not failed, "checks": items})
    else:
        rows = [("ok" if item.passed else "FAILED", item.name, item.detail) for item in checks]
        print_table(f"Certificate {digest}", ("", "check", "found"), rows)
    if failed:
        names = ", ".join(item.name for item in failed)
        raise CorruptionError(f"{file}: does not verify: {names}; do not rely on it")


@certificate.command("show")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def show_certificate(file: Path, as_json: bool) -> None:
    """Show what a certificate FILE binds together; nothing is recomputed.

    \b
    Example: layoutledger certificate show ledger/certificates/cpu-quick-1a2b3c4d5e6f.json
    """
    from tracker.certificate import read_statement

    statement = read_statement(file)
    if as_json:
        emit_json(statement.plain())
        return
    body = statement.predicate
    held = sum(cell.held_out for cell in body.cells)
    facts = [
        ("digest", statement.digest),
        ("campaign", body.campaign),
        ("table", f"{body.table_id} {body.table_digest}"),
        ("method", body.fit_arguments.method),
        ("cells", f"{len(body.cells)}, {held} of them held out; {len(body.exclusions)} excluded"),
        ("evidence", f"{body.evidence.root} over {len(body.evidence.segments)} segments"),
        ("devices", ", ".join(f"{d.capability} {d.memory}" for d in body.domain.device_classes)),
        ("dtypes", ", ".join(body.domain.dtypes)),
        ("shapes", ", ".join(shape.label() for shape in body.domain.shapes)),
    ]
    print_table("Certificate", ("what", "value"), facts)
    print_table("Table (milli-microseconds per unit)", ("term", "value"), sorted(body.table.items()))


@certificate.command()
@click.argument("digest")
@click.option("--output", type=click.Path(path_type=Path), help="Write there instead of standard output.")
@store_option
def export(digest: str, output: Path | None, store: Path) -> None:
    """Make the file of an issued certificate again from the log; DIGEST may be its first digits.

    \b
    Example: layoutledger certificate export 1a2b3c4d5e6f --output certificate.json
    """
    from tracker._certificates import export_certificate
    from tracker._ledger import Ledger
    from tracker.certificate import render_statement

    data = render_statement(export_certificate(Ledger(store), digest))
    if output is None:
        click.echo(data.decode(), nl=False)
        return
    output.write_bytes(data)
    say(f"written: {output}")
