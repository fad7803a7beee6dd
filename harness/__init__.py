"""Measured reality: workloads, the torch model, parallelism, the timing protocol, the campaign runner."""

from harness._campaign import campaign_names, load_campaign, parse_campaign, parse_shape
from harness._campaign_rules import idle_holdout_names
from harness._environment import cpu_device_class, environment_record, source_digest
from harness._job import AutomaticChoice
from harness._recorder import Attempt, Recorder
from harness._runner import CampaignSummary, CellProgress, run_campaign
from harness._stall import stalled
from harness._workload import cell_rows, rows_digest
from harness.engines import Engine, open_engine

__all__ = [
    "Attempt",
    "AutomaticChoice",
    "CampaignSummary",
    "CellProgress",
    "Engine",
    "Recorder",
    "campaign_names",
    "cell_rows",
    "cpu_device_class",
    "environment_record",
    "idle_holdout_names",
    "load_campaign",
    "open_engine",
    "parse_campaign",
    "parse_shape",
    "rows_digest",
    "run_campaign",
    "source_digest",
    "stalled",
]
