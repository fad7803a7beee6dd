import json

from schemas import CellIdentity, CellPlan, FitArguments, Manifest, ModelSpec, ParallelShape, WorkloadSpec
from tracker.log import Log
from tracker.mirror._experiment import experiment_tags

NOTE = "mlflow.note.content"


def manifest(cells: int, title: str = "") -> Manifest:
    plans = tuple(
        CellPlan(
            identity=CellIdentity(
                workload=f"work-{n:04}", family="grpo", model="hybrid", layers=4, shape=ParallelShape()
            ),
            workload=WorkloadSpec(kind="grpo"),
            model=ModelSpec(preset="hybrid"),
        )
        for n in range(cells)
    )
    return Manifest(
        campaign="many", title=title, table_id="t", cells=plans, fit=FitArguments(terms=("gdn_level",))
    )


def opened(log: Log, plan: Manifest) -> None:
    with log.open_segment(plan.campaign, "campaign") as segment:
        segment.append("campaign.opened", {"manifest": plan.plain(), "manifest_digest": plan.digest})


def test_a_campaign_says_what_it_is_how_to_read_and_check_it_and_lists_its_cells(tmp_path, evidence):
    log = Log(tmp_path)
    evidence.open_campaign(log, evidence.manifest(title="<b>loud</b>"))
    tags = experiment_tags(log, "first")
    note = tags[NOTE]
    for part in ("calibration campaign", "How to read it", "layoutledger verify", "| cell | family | part |"):
        assert part in note
    assert "<b>" not in note and note.count("grpo-") == 2
    assert tags["ledger.manifest"] == evidence.manifest(title="<b>loud</b>").digest


def test_a_note_stays_within_what_a_tag_holds_and_says_how_many_cells_it_leaves_out(tmp_path):
    log = Log(tmp_path)
    opened(log, manifest(400))
    note = experiment_tags(log, "many")[NOTE]
    assert len(note) < 5000
    left_out = 400 - note.count("work-")
    assert 0 < left_out < 400
    assert f"… and {left_out} more" in note


def test_the_page_of_runs_opens_with_columns_that_say_what_each_run_is(tmp_path, evidence):
    log = Log(tmp_path)
    evidence.open_campaign(log, evidence.manifest())
    view = json.loads(experiment_tags(log, "first")["mlflow.sharedViewState.ledger"])
    assert view["selectedColumns"][:2] == ["tags.`ledger.kind`", "tags.`ledger.verdict`"]


def test_decisions_and_production_have_notes_of_their_own(tmp_path):
    log = Log(tmp_path)
    for campaign, unit in (
        ("layout-cost", "registration"),
        ("layout-cost", "review"),
        ("fleet", "selection"),
    ):
        with log.open_segment(campaign, unit):
            pass
    assert "promotion" in experiment_tags(log, "layout-cost")[NOTE]
    assert "drift" in experiment_tags(log, "fleet")[NOTE]
    assert NOTE not in experiment_tags(log, "nothing-here")
