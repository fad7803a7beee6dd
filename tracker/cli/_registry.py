"""`register`, `review`, `hold`, `promote`, `rollback`, `versions`: versions and who vouches for them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracker.cli import _complete as complete
from tracker.cli._options import by_option, json_option, store_option
from tracker.cli._output import emit_json, print_table, say
from tracker.cli._verbs import Verbs

if TYPE_CHECKING:
    from schemas import HoldPlaced
    from tracker.registry import Aspect, Promotion, Recorded, Verdict, Version

    Holds = tuple[Recorded[HoldPlaced], ...]


@click.command()
@click.argument("campaigns", nargs=-1, shell_complete=complete.campaigns)
@store_option
@json_option
def register(campaigns: tuple[str, ...], store: Path, as_json: bool) -> None:
    """Register the latest certified tables of CAMPAIGNS as one coefficient version.

    Version 1, the hand-set score, is registered first where it is missing.

    \b
    Example: layoutledger register cpu-quick
    """
    from tracker._ledger import Ledger
    from tracker._versions import register_campaigns

    ledger = Ledger(store)
    names = campaigns or (ledger.only_campaign(None),)
    version = register_campaigns(ledger, tuple(ledger.only_campaign(name) for name in names))
    if as_json:
        emit_json({"model": "layout-cost", "version": version, "campaigns": list(names)})
    else:
        say(f"layout-cost version {version}: {', '.join(names)}")


@click.group(cls=Verbs)
def review() -> None:
    """Say what you think of a certificate: is it correct, should it be adopted."""


@review.command("add")
@click.argument("certificate", shell_complete=complete.certificates)
@click.option("--aspect", type=click.Choice(["correctness", "adoption"]), required=True)
@click.option(
    "--verdict",
    type=click.Choice(["clear", "changes_requested", "approve", "hold"]),
    required=True,
    help="correctness: clear or changes_requested; adoption: approve or hold.",
)
@click.option("--reason", required=True, help="Why; others will read it.")
@by_option
@store_option
@json_option
def add_review(
    certificate: str, aspect: "Aspect", verdict: "Verdict", reason: str, by: str, store: Path, as_json: bool
) -> None:
    """Review the certificate with this digest (its first digits will do).

    \b
    Example:
      layoutledger review add 1a2b3c4d --aspect correctness --verdict clear --reason "recomputed elsewhere"
    """
    from tracker._ledger import Ledger
    from tracker.registry import record_review

    log = Ledger(store).existing().log
    recorded = record_review(log, certificate, aspect, verdict, by=by, reason=reason)
    if as_json:
        emit_json(recorded.plain())
    else:
        say(f"{aspect} of {recorded.certificate[:12]}: {verdict} by {by}")


@review.command("list")
@click.argument("certificate", shell_complete=complete.certificates)
@store_option
@json_option
def list_reviews(certificate: str, store: Path, as_json: bool) -> None:
    """List each person's last word on the certificate with this digest (its first digits will do).

    \b
    Example: layoutledger review list 1a2b3c4d
    """
    from tracker._ledger import Ledger
    from tracker.registry import find_certificate, reviews

    log = Ledger(store).existing().log
    standing = reviews(log, find_certificate(log, certificate)[0])
    if as_json:
        emit_json([{"time": each.time} | each.fact.plain() for each in standing])
        return
    rows = [
        (e.time, e.fact.aspect, e.fact.verdict.replace("_", " "), e.fact.by, e.fact.reason) for e in standing
    ]
    print_table("Reviews", ("time", "aspect", "verdict", "by", "reason"), rows)


@click.group(cls=Verbs)
def hold() -> None:
    """Keep a version or a certificate from being promoted, until someone releases the hold."""


@hold.command("add")
@click.argument("target", metavar="VERSION|DIGEST", shell_complete=complete.held)
@click.option("--reason", required=True, help="Why; whoever tries to promote reads it.")
@by_option
@store_option
@json_option
def add_hold(target: str, reason: str, by: str, store: Path, as_json: bool) -> None:
    """Hold a version by its number, or a certificate by the first digits of its digest.

    \b
    Examples:
      layoutledger hold add 2 --reason "regressed on the new driver"
      layoutledger hold add 1a2b3c4d --reason "the noise at cp4 is not explained"
    """
    from tracker._ledger import Ledger
    from tracker.registry import place_hold, target_words

    placed = place_hold(Ledger(store).existing().log, target, by=by, reason=reason)
    if as_json:
        emit_json({"hold": placed.segment, "time": placed.time} | placed.fact.plain())
    else:
        say(f"{target_words(placed.fact)} is held by {by}")
        click.echo(placed.segment)


@hold.command("release")
@click.argument("target", metavar="HOLD|VERSION|DIGEST", shell_complete=complete.held)
@click.option("--reason", required=True, help="Why it does not bind any more.")
@by_option
@store_option
@json_option
def release(target: str, reason: str, by: str, store: Path, as_json: bool) -> None:
    """Release a hold by its id, or every open hold on a version or certificate.

    \b
    Example: layoutledger hold release 2 --reason "measured again on the new driver"
    """
    from tracker._ledger import Ledger
    from tracker.registry import release_hold, target_words

    lifted = release_hold(Ledger(store).existing().log, target, by=by, reason=reason)
    if as_json:
        emit_json([{"hold": each.segment} | each.fact.plain() for each in lifted])
        return
    for each in lifted:
        say(f"released: the hold of {each.fact.by} on {target_words(each.fact)} ({each.segment})")


@hold.command("list")
@store_option
@json_option
def list_holds(store: Path, as_json: bool) -> None:
    """List the open holds; `layoutledger sql "from holds"` shows released ones too.

    \b
    Example: layoutledger hold list
    """
    from tracker._ledger import Ledger
    from tracker.registry import open_holds, target_words

    standing = open_holds(Ledger(store).existing().log)
    if as_json:
        emit_json([{"hold": each.segment, "time": each.time} | each.fact.plain() for each in standing])
        return
    rows = [(e.segment, target_words(e.fact), e.fact.by, e.time, e.fact.reason) for e in standing]
    print_table("Open holds", ("hold", "on", "by", "since", "reason"), rows)


@click.command()
@click.argument("version", type=click.IntRange(1), shell_complete=complete.versions)
@click.option("--alias", default="champion", show_default=True, shell_complete=complete.aliases)
@click.option("--reason", required=True, help="Why; goes into the alias's history.")
@click.option("--force", is_flag=True, help="Promote though reviews are missing; the record says so.")
@by_option
@store_option
@json_option
def promote(version: int, alias: str, reason: str, force: bool, by: str, store: Path, as_json: bool) -> None:
    """Point ALIAS at VERSION, if its certificates verify and both reviews are there.

    \b
    Example: layoutledger promote 2 --alias champion --reason "first fitted table"
    """
    from tracker._certificates import full_check
    from tracker._ledger import Ledger
    from tracker.registry import promote as move

    ledger = Ledger(store).existing()
    promotion = move(ledger.log, alias, version, by=by, reason=reason, force=force, check=full_check(ledger))
    show_move(promotion, as_json)


@click.command()
@click.option("--alias", default="champion", show_default=True, shell_complete=complete.aliases)
@click.option("--reason", required=True, help="Why; goes into the alias's history.")
@by_option
@store_option
@json_option
def rollback(alias: str, reason: str, by: str, store: Path, as_json: bool) -> None:
    """Point ALIAS back at the version that it named before.

    \b
    Example: layoutledger rollback --alias champion --reason "slower on the new driver"
    """
    from tracker._ledger import Ledger
    from tracker.registry import rollback as move

    show_move(move(Ledger(store).existing().log, alias, by=by, reason=reason), as_json)


def show_move(promotion: "Promotion", as_json: bool) -> None:
    """Where the alias points now, and what force overrode."""
    moved = promotion.move
    if as_json:
        emit_json(moved.plain() | {"lacked": list(promotion.lacked)})
        return
    say(f"{moved.alias}: version {moved.version} (was {moved.previous or 'none'})")
    for lack in promotion.lacked:
        say(f"forced, though it lacks: {lack}")


@click.command("versions")
@store_option
@json_option
def versions(store: Path, as_json: bool) -> None:
    """List coefficient versions, their aliases, and each alias's history: when, who, why.

    \b
    Example: layoutledger versions --json
    """
    from tracker._ledger import Ledger
    from tracker._versions import lost_versions, rebuild_hint
    from tracker.registry import alias_history, holds_on
    from tracker.registry import versions as list_versions

    ledger = Ledger(store).existing()
    log = ledger.log
    found, history = list_versions(log), alias_history(log)
    held = {each.version: holds_on(log, each.registered.fact) if each.registered else () for each in found}
    if as_json:
        emit_json(
            {
                "versions": [_version_record(each, held[each.version]) for each in found],
                "history": [move.fact.plain() | {"time": move.time} for move in history],
            }
        )
        return
    rows = [_version_row(each, held[each.version]) for each in found]
    print_table("layout-cost", ("version", "aliases", "tables", "bundle", "held by"), rows)
    moves = [
        (m.time, m.fact.alias, m.fact.version, m.fact.by, m.fact.origin, m.fact.forced, m.fact.reason)
        for m in history
    ]
    if moves:
        print_table("History", ("time", "alias", "version", "by", "origin", "forced", "reason"), moves)
    lost = lost_versions(ledger)
    if lost:
        say(rebuild_hint(lost))
    elif not found:
        say("no version is registered: `layoutledger register CAMPAIGN` makes one of a certified table")


def _version_record(version: "Version", holds: "Holds") -> dict[str, Any]:
    registered = version.registered
    return {
        "version": version.version,
        "aliases": list(version.aliases),
        "holds": [hold.segment for hold in holds],
        "bundle_digest": version.bundle_digest,
        "tables": [table.plain() for table in registered.fact.tables] if registered else None,
    }


def _version_row(version: "Version", holds: "Holds") -> tuple[object, ...]:
    if version.registered:
        tables = ", ".join(table.table_id for table in version.registered.fact.tables) or "hand-set"
    else:
        tables = "not registered from this ledger"
    return (
        version.version,
        ", ".join(version.aliases) or "-",
        tables,
        (version.bundle_digest or "-")[:12],
        ", ".join(hold.fact.by for hold in holds) or "-",
    )
