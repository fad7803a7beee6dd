"""`certify` and `certificate`: bind a table to its evidence; recompute what a certificate says."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from schemas import CorruptionError, InvalidInputError
from tracker.cli import _complete as complete
from tracker.cli._options import json_option, store_option
from tracker.cli._output import emit_json, print_table, progress, say
from tracker.cli._verbs import Verbs

if TYPE_CHECKING:
    from tracker.certificate import Check


@click.command()
@click.argument("campaign", required=False, shell_complete=complete.campaigns)
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


@click.group(cls=Verbs)
def certificate() -> None:
    """Show, check, compare, sign and export certificates."""


@certificate.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--refit", is_flag=True, help="Repeat the fit and its analysis too.")
@click.option(
    "--from",
    "origin",
    type=click.Choice(["ledger", "file", "mlflow"]),
    default="ledger",
    show_default=True,
    help="What to trust: the ledger's log, the file alone, or what the tracking store alone holds.",
)
@store_option
@json_option
def check(file: Path, refit: bool, origin: str, store: Path, as_json: bool) -> None:
    """Recompute everything that a certificate FILE says.

    `--refit` demands identical integers; from the log also the recorded intervals, ablations and selections.

    From the log, where the ledger holds its campaign; else from the file alone, and it says so. `--from
    mlflow` fetches the segments from the tracking store, verifies each line, and recomputes from those alone.

    \b
    Example: layoutledger certificate check ledger/certificates/cpu-quick-1a2b3c4d5e6f.json --refit
    """
    from tracker._certificates import check_alone, check_certificate
    from tracker._ledger import Ledger

    with progress() as bar:
        bar.add_task("recomputing, and repeating the fit" if refit else "recomputing", total=None)
        if origin == "mlflow":
            from tracker._tracked import check_tracked

            digest, checks = check_tracked(file, store, refit=refit)
        elif origin == "file":
            digest, checks = check_alone(file, refit=refit)
        else:
            digest, checks = check_certificate(file, Ledger(store), refit=refit)
    failed = [item for item in checks if not item.passed]
    if as_json:
        items = [asdict(check) for check in checks]
        emit_json({"digest": digest, "passed": not failed, "checks": items})
    else:
        rows = [(_verdict(item), item.name, item.detail) for item in checks]
        print_table(f"Certificate {digest}", ("", "check", "found"), rows)
    if failed:
        names = ", ".join(item.name for item in failed)
        raise CorruptionError(f"{file}: does not verify: {names}; do not rely on it")


def _verdict(check: "Check") -> str:
    if check.skipped:
        return "skipped"
    return "ok" if check.passed else "FAILED"


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
@click.argument("digest", shell_complete=complete.certificates)
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


@certificate.command()
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@json_option
def diff(first: Path, second: Path, as_json: bool) -> None:
    """Show what the SECOND certificate says otherwise: rules, cells, coefficients, selections.

    \b
    Example: layoutledger certificate diff before.json after.json
    """
    from tracker.certificate import diff_certificates, read_statement

    found = diff_certificates(read_statement(first).predicate, read_statement(second).predicate)
    if as_json:
        emit_json(asdict(found))
        return
    rows: list[tuple[object, ...]] = [("rule", name, None, "differs") for name in found.rules]
    rows += [("cell", cell, "absent", "added") for cell in found.added]
    rows += [("cell", cell, "removed", "absent") for cell in found.removed]
    rows += [("cell", cell, None, ", ".join(what)) for cell, what in found.changed.items()]
    rows += [("coefficient", term, old, new) for term, (old, new) in found.coefficients.items()]
    rows += [
        (
            "selection",
            change.cell,
            f"{change.before} ({change.before_regret_pct:.2f}% over the fastest)",
            f"{change.after} ({change.after_regret_pct:.2f}%)",
        )
        for change in found.selections
    ]
    print_table("From the first to the second", ("what", "which", "before", "after"), rows)
    say("nothing differs" if found.empty else f"{len(rows)} differences")


@certificate.command()
@click.argument("key", type=click.Path(path_type=Path))
@json_option
def keygen(key: Path, as_json: bool) -> None:
    """Make an ed25519 key to sign with: KEY for you alone, KEY.pub for everyone.

    \b
    Example: layoutledger certificate keygen ann.pem
    """
    from tracker.certificate.signing import generate_keys

    public = generate_keys(key)
    if as_json:
        emit_json({"private": str(key), "public": str(public)})
        return
    say(f"private key: {key}")
    click.echo(public)


@certificate.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--key", type=click.Path(path_type=Path), required=True, help="ed25519 private key, PEM.")
@click.option("--output", type=click.Path(path_type=Path), help="FILE with the ending .dsse.json if omitted.")
@json_option
def sign(file: Path, key: Path, output: Path | None, as_json: bool) -> None:
    """Sign a certificate FILE (DSSE); a signed one gets another signature.

    \b
    Example: layoutledger certificate sign certificate.json --key ann.pem
    """
    from tracker.certificate.signing import sign_certificate

    path = output or file.with_name(file.name.removesuffix(".json").removesuffix(".dsse") + ".dsse.json")
    _refuse_key(path, key)
    path.write_bytes(sign_certificate(file, key))
    if as_json:
        emit_json({"file": str(path)})
    else:
        click.echo(path)


@certificate.command("verify")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--key", type=click.Path(path_type=Path), required=True, help="The signer's public key, PEM.")
@click.option("--output", type=click.Path(path_type=Path), help="Write the signed certificate there.")
@json_option
def verify_signed(file: Path, key: Path, output: Path | None, as_json: bool) -> None:
    """Verify who signed a certificate FILE; `certificate check` recomputes what it says.

    \b
    Example: layoutledger certificate verify certificate.dsse.json --key ann.pem.pub --output certificate.json
    """
    from tracker.certificate import render_statement
    from tracker.certificate.signing import verify_envelope

    statement = verify_envelope(file, key)
    if output is not None:
        _refuse_key(output, key)
        output.write_bytes(render_statement(statement))
    if as_json:
        emit_json({"digest": statement.digest, "signed": True})
        return
    say("the signature is by this key")
    click.echo(statement.digest)


def _refuse_key(output: Path, key: Path) -> None:
    if output.exists() and key.exists() and output.samefile(key):
        raise InvalidInputError(f"--output {output}: that is the key, which would be lost; name another file")
