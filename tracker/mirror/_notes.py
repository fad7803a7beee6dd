"""Descriptions for people who browse: what a run is, what follows, how to check it. Markdown, escaped."""

from collections.abc import Sequence

from schemas import (
    AliasMoved,
    CellExcluded,
    CertificateIssued,
    CertificateRefused,
    Manifest,
    ReviewRecorded,
    SelectionsClosed,
    VersionRegistered,
)
from tracker._markdown import escape_markdown as safe

NOTE_CHARACTERS = 4900
"""A tag of an experiment holds 5,000."""


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the cells are Markdown already."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def manifest_words(manifest: Manifest) -> str:
    """What a campaign measures and by which rules."""
    plan, gates = manifest.protocol, manifest.gates
    held = len(manifest.holdout_keys())
    return "\n\n".join(
        [
            f"A calibration campaign: every candidate layout of {len(manifest.cells)} cells is timed, "
            f"{len(manifest.cells) - held} to fit the cost table {safe(manifest.table_id)} on, and {held} "
            "held out to judge it by. All of this was recorded before the first sample.",
            f"Each candidate runs {plan.rounds} rounds, of which {plan.required} have to be usable: not "
            f"compiled, and less than {plan.disturbed_pct:g}% of the time waiting for a processor. "
            f"The table has to order {gates.pairwise_min_pct:g}% of the pairs right that lie more than "
            f"{gates.separation_pct:g}% apart; its choice may be slower than the best by "
            f"{gates.regret_median_max_pct:g}% at the median, {gates.regret_p95_max_pct:g}% at the 95th "
            f"percentile, {gates.regret_max_pct:g}% at most.",
        ]
    )


def experiment_words(manifest: Manifest) -> str:
    """The page of a campaign: what it is, how to read the runs, its cells as far as a tag holds them."""
    text = "\n\n".join(
        [
            # The list of experiments shows the beginning of this as it is written.
            safe(manifest.title or manifest.campaign),
            manifest_words(manifest),
            "**How to read it.** One run is one recorded unit of work: the campaign's opening, an attempt at "
            "a cell, an exclusion, a fit, a certificate. `ledger.kind` says which, `ledger.verdict` how it "
            "ended. An attempt's charts show each candidate over its rounds, in milliseconds; its artifacts "
            "hold the evidence. The fit holds the report.",
            "**How to check it.** `layoutledger verify` compares every run with the log; "
            f"`layoutledger report {safe(manifest.campaign)}` tells it all on one page.",
        ]
    )
    rows = [
        [
            safe(plan.identity.key),
            safe(plan.identity.family),
            "held out" if manifest.holdout.holds_out(plan.identity.key) else "training",
        ]
        for plan in manifest.cells
    ]
    columns = ("cell", "family", "part")
    shown = len(rows)
    while len(text) + len(markdown_table(columns, rows[:shown])) > NOTE_CHARACTERS:
        shown -= 1
    more = len(rows) - shown
    parts = [text, markdown_table(columns, rows[:shown])]
    return "\n\n".join(parts + [f"… and {more} more, in the run *campaign opened*"] * bool(more))


def exclusion_words(excluded: CellExcluded) -> str:
    """Why a cell does not count."""
    reference = f"\n\nReference: {safe(excluded.reference)}" if excluded.reference else ""
    return (
        f"Cell {safe(excluded.cell)} is **taken out** of the fit by {safe(excluded.by)}: "
        f"{safe(excluded.reason)}{reference}\n\nIts samples stay in the log. Every certificate of this "
        "campaign lists the exclusion with its reason."
    )


def certificate_words(issued: CertificateIssued) -> str:
    """What a certificate binds together, and how to check it."""
    return "\n\n".join(
        [
            f"Certificate of table {safe(issued.table_id)}: it binds the integers to the evidence that they "
            "were fitted and judged on, and was made from that evidence by the documented views.",
            markdown_table(
                ("what", "sha256"),
                [
                    ["certificate", safe(issued.digest)],
                    ["integer table", safe(issued.table_digest)],
                    ["evidence (Merkle root)", safe(issued.evidence_root)],
                ],
            ),
            f"Fitted in the run with `ledger.segment` {safe(issued.fit)}.",
            "Recompute it: `layoutledger certificate check FILE --refit`. Review it: "
            f"`layoutledger review add {safe(issued.digest[:12])} …`.",
        ]
    )


def refusal_words(refused: CertificateRefused) -> str:
    """Why there is no certificate."""
    reasons = "\n".join(f"- {safe(reason)}" for reason in refused.reasons)
    return (
        f"**No certificate**, because:\n\n{reasons}\n\n"
        f"The fit is the run with `ledger.segment` {safe(refused.fit)}."
    )


def registration_words(registered: VersionRegistered) -> str:
    """What a version serves, and how it is loaded."""
    name, version = safe(registered.model), registered.version
    if not registered.tables:
        return (
            f"{name} version {version}: the hand-set score, without tables and without evidence. It is what "
            "a planner falls back to outside every measured domain."
        )
    rows = [
        [safe(t.table_id), safe(t.table_digest[:12]), safe(t.certificate[:12])] for t in registered.tables
    ]
    return "\n\n".join(
        [
            f"{name} **version {version}** entered the model registry. A trainer loads it with "
            f'`planner.load("{name}", version={version})`.',
            markdown_table(("table", "sha256 of its integers", "certificate"), rows),
        ]
    )


def move_words(moved: AliasMoved) -> str:
    """Where an alias points now, who moved it and why."""
    target = "nowhere" if moved.version is None else f"version {moved.version}"
    before = "nowhere" if moved.previous is None else f"version {moved.previous}"
    forced = " **Forced**: a requirement was missing." if moved.forced else ""
    return (
        f"Alias `{safe(moved.alias)}` of {safe(moved.model)} points to **{target}**, before to {before}."
        f"{forced}\n\n{safe(moved.by)}: {safe(moved.reason)}"
    )


def review_words(review: ReviewRecorded) -> str:
    """A person's verdict, and what it is bound to."""
    verdict = f"{review.aspect}: {review.verdict.replace('_', ' ')}"
    return (
        f"{safe(review.by)} says **{safe(verdict)}** of certificate {safe(review.certificate)}: "
        f"{safe(review.reason)}\n\nA version is promoted when correctness is clear and adoption approved. "
        "The review holds for this very certificate: a changed one has another digest, and no reviews."
    )


def selections_words(recorded: int, closed: Sequence[SelectionsClosed]) -> str:
    """What a trainer told of the layouts that it ran."""
    lost = sum(each.dropped + each.unwritten + each.refused for each in closed)
    return (
        f"A trainer told of {recorded} steps: which layout ran, how long it took, what was predicted; "
        f"{lost} observations were lost on the way. `layoutledger drift` compares them with the predictions."
    )
