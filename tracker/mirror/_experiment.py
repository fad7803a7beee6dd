"""What a campaign's experiment says of itself."""

from schemas import CampaignOpened
from tracker._markdown import escape_markdown
from tracker.log import Log, iter_segment
from tracker.mirror._run_plan import CAMPAIGN_TAG, NOTE_TAG

_KIND_TAG = "mlflow.experimentKind"


def experiment_tags(log: Log, campaign: str) -> dict[str, str]:
    """Tags of the experiment: which campaign, and a note for those who browse."""
    tags = {CAMPAIGN_TAG: campaign, _KIND_TAG: "custom_model_development"}
    for place in log.segments(campaign):
        for event in iter_segment(place.path):
            if event.type == "campaign.opened":
                opened = CampaignOpened.parse(event.data, where=f"{place.path}: line {event.seq + 1}")
                return {**tags, NOTE_TAG: _note(opened), "ledger.manifest": opened.manifest_digest}
            if event.seq > 0:
                break
    return tags


def _note(opened: CampaignOpened) -> str:
    manifest = opened.manifest
    return (
        f"{escape_markdown(manifest.title or manifest.campaign)}\n\n"
        f"Calibration campaign `{manifest.campaign}`: {len(manifest.cells)} expected cells, "
        f"{len(manifest.holdout_keys())} held out, table {escape_markdown(manifest.table_id)}.\n\n"
        "One run a segment of the ledger's log; `layoutledger verify` compares them."
    )
