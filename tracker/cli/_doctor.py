"""`doctor`: examine what the tool stands on."""

from pathlib import Path

import click

from schemas import InvalidInputError, UnhealthyError
from tracker.cli._options import json_option, store_option
from tracker.cli._output import emit_json, print_table, say


@click.command()
@store_option
@json_option
@click.pass_context
def doctor(ctx: click.Context, store: Path, as_json: bool) -> None:
    """Examine store, tracking server, versions, torch, devices, disk, permissions and clock; change nothing.

    Each finding names its remedy. Exits with 14 if something is broken; warnings alone are no failure.

    \b
    Example: layoutledger doctor --json
    """
    from dataclasses import asdict

    from tracker.doctor import Finding, examine_all

    findings = examine_all(store)
    settings = ctx.find_root().obj
    if isinstance(settings, InvalidInputError):
        findings = (Finding("settings", "broken", str(settings), "mend the file"), *findings)
    broken = [finding for finding in findings if finding.state == "broken"]
    if as_json:
        emit_json({"healthy": not broken, "findings": [asdict(finding) for finding in findings]})
    else:
        rows = [(each.state, each.part, each.found, each.remedy) for each in findings]
        print_table("Findings", ("state", "part", "found", "remedy"), rows)
        warnings = sum(finding.state == "warning" for finding in findings)
        say(f"{len(broken)} broken, {warnings} warnings, {len(findings)} things looked at")
    if broken:
        raise UnhealthyError(
            "something is broken:\n  " + "\n  ".join(f"{each.found}: {each.remedy}" for each in broken)
        )
