from urllib.parse import parse_qs, urlsplit

from tracker._pages import ledger_pages
from tracker.mirror import push
from tracker.mlflow_store import connect, embedded_uri


def test_each_mirrored_campaign_has_a_page_of_runs_and_one_of_charts(tmp_path, evidence):
    log = evidence.small_ledger(tmp_path / "ledger")
    uri = embedded_uri(log.root)
    push(log, uri)
    evidence.open_campaign(log, evidence.manifest("not-mirrored"))
    runs, charts = ledger_pages(log.root)
    assert (runs.name, charts.name) == ("first: runs", "first: charts")
    tracking = connect(uri)
    experiment = tracking.experiment("first")
    for page in (runs, charts):
        assert page.path.startswith(f"#/experiments/{experiment}/runs?workflowType=machine_learning&")
    key = parse_qs(urlsplit(runs.path.removeprefix("#")).query)["viewStateShareKey"][0]
    assert f"mlflow.sharedViewState.{key}" in tracking.experiment_tags("first")
    found = parse_qs(urlsplit(charts.path.removeprefix("#")).query)["searchFilter"][0]
    assert {run.tags["ledger.kind"] for run in tracking.runs(experiment, found)} == {"attempt"}
