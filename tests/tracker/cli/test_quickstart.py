"""`quickstart` says of a campaign that is not complete what it is called, and which command goes on."""

from pathlib import Path

import pytest

from harness import CampaignSummary
from schemas import CampaignFailedError
from tracker.cli._options import named
from tracker.cli._quickstart import Lines


def test_cells_that_failed_are_named_with_the_command_that_goes_on():
    summary = CampaignSummary((), {"a|b": "timeout"}, (), ("c|d",), None, 1.0)
    with pytest.raises(CampaignFailedError) as raised:
        Lines("mini", "quickstart --campaign mini.toml").measured(summary)
    told = str(raised.value)
    assert "a|b: timeout" in told and "1 cells not run" in told
    assert "`layoutledger campaign status mini`" in told
    assert "`layoutledger quickstart --campaign mini.toml`" in told


@pytest.mark.parametrize(
    ("store", "said"), [("ledger", ""), ("fresh", " --store fresh"), ("a b", " --store 'a b'")]
)
def test_commands_to_go_on_with_name_a_store_of_ones_own(store, said):
    assert named(Path(store)) == said
