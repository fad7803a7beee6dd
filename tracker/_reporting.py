"""A campaign's report as the ledger has it now, written to a file."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from schemas import CellJudged, FitCompleted, Manifest, StoreUnavailableError
from tracker._analysis import judge_told
from tracker._ledger import Ledger
from tracker._story import tell_cells
from tracker.log import read_segment
from tracker.report import Decision, FitFacts, ReportFacts, facts_of_events, render_report

DECISIONS = """
WITH _issued AS (SELECT certificate FROM certificates WHERE campaign = $campaign AND issued),
_versions AS (SELECT * FROM versions WHERE certificate IN (FROM _issued)),
_held AS (
    SELECT * FROM holds WHERE certificate IN (FROM _issued) OR version IN (SELECT version FROM _versions)
)
SELECT segment, time, what, "by", reason FROM (
    SELECT segment, time, CASE WHEN issued THEN 'certificate ' || certificate || ' issued'
        ELSE 'certificate refused: ' || array_to_string(reasons, '; ') END AS what, '' AS "by", '' AS reason
    FROM certificates WHERE campaign = $campaign
    UNION ALL
    SELECT reviews.segment, reviews.time, 'review of certificate ' || left(reviews.certificate, 12) || ': '
        || aspect || ' ' || replace(verdict, '_', ' '), "by", reason
    FROM reviews WHERE certificate IN (FROM _issued)
    UNION ALL
    SELECT segment, time, 'hold placed on '
        || coalesce('version ' || version, 'certificate ' || left(certificate, 12)), "by", reason
    FROM _held
    UNION ALL
    SELECT hold, released, 'hold released', released_by, released_reason FROM _held WHERE released IS NOT NULL
    UNION ALL
    SELECT segment, time, 'registered as ' || model || ' version ' || version, '', ''
    FROM _versions
    UNION ALL
    SELECT promotions.segment, promotions.time, promotions.origin || ': alias ' || alias || ' of '
        || promotions.model || ' to version ' || promotions.version
        || CASE WHEN forced THEN ', forced' ELSE '' END, "by", reason
    FROM promotions WHERE EXISTS (
        SELECT 1 FROM _versions
        WHERE _versions.model = promotions.model AND _versions.version = promotions.version
    )
) ORDER BY time, segment
"""


def report_path(ledger: Ledger, campaign: str) -> Path:
    """Where a campaign's report is written unless another file is named."""
    return ledger.store / "reports" / f"{campaign}.html"


def write_report(ledger: Ledger, campaign: str, path: Path | None = None) -> Path:
    """Write the report of what is known of a campaign now; the same events give the same bytes.

    Args:
        ledger: where the campaign is.
        campaign: its name.
        path: the file; `report_path` where omitted.

    Raises:
        NotFoundError: no such campaign.
        StoreUnavailableError: the file cannot be written.
    """
    text = render_report(campaign_facts(ledger, campaign))
    file = path or report_path(ledger, campaign)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise StoreUnavailableError(
            f"{file}: the report cannot be written: {error.strerror or error}; name another file (--output)"
        ) from error
    return file


def campaign_facts(ledger: Ledger, campaign: str) -> ReportFacts:
    """What is known of a campaign now: its latest fit where there is one, else its cells alone.

    Raises:
        NotFoundError: no such campaign.
    """
    manifest = ledger.manifest(campaign)
    fits = ledger.fits(campaign)
    if not fits:
        return _unfitted(ledger, manifest)
    fit_id = fits[-1]
    result = ledger.fit(campaign, fit_id)
    events = read_segment(ledger.log.find(fit_id).path)
    analysed = any(event.type == "fit.analysed" for event in events)
    facts = facts_of_events(events) if analysed else _bare(ledger, manifest, fit_id, result)
    since = set(ledger.evidence_segments(campaign)) - set(result.evidence.segments)
    return replace(
        facts,
        cells=_with_steadiness(ledger, campaign, facts.cells, result.evidence.segments),
        segments_since=len(since),
        decisions=_decisions(ledger, campaign),
    )


def _unfitted(ledger: Ledger, manifest: Manifest) -> ReportFacts:
    return ReportFacts(
        campaign=manifest.campaign,
        title=manifest.title,
        table_id=manifest.table_id,
        manifest_digest=manifest.digest,
        opened=ledger.opened(manifest.campaign),
        first_sample=ledger.first_sample(manifest.campaign),
        protocol=manifest.protocol,
        holdout=manifest.holdout,
        gates=manifest.gates,
        cells=tell_cells(ledger, manifest.campaign),
        fit=None,
    )


def _bare(ledger: Ledger, manifest: Manifest, fit_id: str, result: FitCompleted) -> ReportFacts:
    """A fit that was recorded without its analysis: its cells are told from its evidence again."""
    segments = result.evidence.segments
    cells = ledger.certified_cells(manifest.campaign, segments)
    told = tell_cells(ledger, manifest.campaign, segments)
    return replace(
        _unfitted(ledger, manifest),
        cells=judge_told(told, cells, result.table, {}),
        fit=FitFacts(fit_id, result, None),
    )


def _with_steadiness(
    ledger: Ledger, campaign: str, cells: tuple[CellJudged, ...], segments: Sequence[str]
) -> tuple[CellJudged, ...]:
    """The cells with drift and stalls from their evidence, where the fit was recorded without them."""
    if any(cell.drift_pct is not None for cell in cells):
        return cells
    told = {cell.cell: cell for cell in tell_cells(ledger, campaign, segments)}
    names = ("stalls", "drift_pct", "drifting")
    return tuple(
        cell.model_copy(update={name: getattr(told[cell.cell], name) for name in names})
        if cell.cell in told
        else cell
        for cell in cells
    )


def _decisions(ledger: Ledger, campaign: str) -> tuple[Decision, ...]:
    with ledger.warehouse.connect() as connection:
        rows = connection.execute(DECISIONS, {"campaign": campaign}).fetchall()
    return tuple(
        Decision(time.strftime("%Y-%m-%d %H:%M:%S UTC"), what, by, reason)
        for _, time, what, by, reason in rows
    )
