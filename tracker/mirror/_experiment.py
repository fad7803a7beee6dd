"""What an experiment says of itself: which campaign, a note for people, the columns that it opens with."""

import json

from schemas import CampaignOpened, Unit
from tracker.log import Log, iter_segment
from tracker.mirror._notes import experiment_words
from tracker.mirror._run_plan import CAMPAIGN_TAG, NOTE_TAG

RUNS_VIEW = "ledger"
"""Key of the view that MLflow's page of runs is opened with (`viewStateShareKey` in its address)."""

_KIND_TAG = "mlflow.experimentKind"
_VIEW_TAG = f"mlflow.sharedViewState.{RUNS_VIEW}"
_COLUMNS = (
    "tags.`ledger.kind`",
    "tags.`ledger.verdict`",
    "params.`fastest`",
    "params.`shape`",
    "params.`unsteady`",
)
_VIEW_STATE = {"orderByAsc": True, "orderByKey": "attributes.start_time", "selectedColumns": _COLUMNS}

DECISIONS = (
    "Decisions about the registered model `layout-cost`, a run for each.\n\n"
    "Registered versions, reviews, holds, promotions and rollbacks in order of time. The versions themselves "
    "are in the model registry; `layoutledger versions` tells their history."
)
PRODUCTION = (
    "What trainers told of the layouts that they ran in production, and the times they saw.\n\n"
    "`layoutledger drift` compares them with what the versions predicted."
)


def experiment_tags(log: Log, campaign: str) -> dict[str, str]:
    """Tags of the experiment that shows a campaign's segments."""
    tags = {
        CAMPAIGN_TAG: campaign,
        _KIND_TAG: "custom_model_development",
        _VIEW_TAG: json.dumps(_VIEW_STATE, sort_keys=True),
    }
    units: set[str] = set()
    for place in log.segments(campaign):
        for event in iter_segment(place.path):
            if event.type == "campaign.opened":
                opened = CampaignOpened.parse(event.data, where=f"{place.path}: line {event.seq + 1}")
                note = experiment_words(opened.manifest)
                return {**tags, NOTE_TAG: note, "ledger.manifest": opened.manifest_digest}
            if event.seq > 0:
                break
            units.add(str(event.data.get("unit")))
    if units and units <= {Unit.REGISTRATION, Unit.PROMOTION, Unit.REVIEW}:
        return {**tags, NOTE_TAG: DECISIONS}
    return {**tags, NOTE_TAG: PRODUCTION} if units == {Unit.SELECTION} else tags
