"""Launchers that report success for ranks that never ran; what real ranks do is in the runner's tests."""

import pytest

from harness._launch import WORKER
from harness._runner import CampaignRun
from harness.engines import LocalEngine


@pytest.mark.parametrize(
    "command",
    [("true",), ("sh", "-c", '"$@"; exit 0', "sh", *WORKER)],
    ids=["nothing runs", "a failed worker is masked"],
)
def test_a_launcher_that_reports_success_for_ranks_that_never_ran_is_not_believed(
    recorder, campaign, command
) -> None:
    manifest = campaign(["g"])
    summary = CampaignRun(manifest, recorder, engine=LocalEngine(command)).run()
    assert summary.failed == {manifest.keys[0]: "false_success"}
    failure = recorder.attempts[0].failure
    assert failure["exit_codes"] == [0]
    assert "only 0 of 1 sent an end report; the ranks never described the cell" in failure["message"]


def test_codes_of_fewer_ranks_than_the_cell_has_are_no_success(recorder, campaign) -> None:
    class OneRankTold(LocalEngine):
        def run(self, work, reports, stop) -> None:
            super().run(work, OneRankLess(reports), stop)

    class OneRankLess:
        def __init__(self, reports) -> None:
            self.began, self.said, self._ended = reports.began, reports.said, reports.ended

        def ended(self, plan, outcome) -> None:
            outcome.exit_codes = outcome.exit_codes[:1]
            self._ended(plan, outcome)

    manifest = campaign(["g"], shape="tp2cp1")
    summary = CampaignRun(manifest, recorder, engine=OneRankTold(["true"])).run()
    assert summary.failed == {manifest.keys[0]: "false_success"}
    assert "exit codes of 1 ranks came, the cell has 2" in recorder.attempts[0].failure["message"]
