"""The log as MLflow shows it: an experiment a campaign, a run a segment."""

from tracker.mirror._experiment import RUNS_VIEW
from tracker.mirror._project import project_segment
from tracker.mirror._pull import PullReport, pull
from tracker.mirror._push import PushFailure, PushReport, push, push_to
from tracker.mirror._run_plan import RunPlan
from tracker.mirror._verify import compare_run, verify_mirror

__all__ = [
    "RUNS_VIEW",
    "PullReport",
    "PushFailure",
    "PushReport",
    "RunPlan",
    "compare_run",
    "project_segment",
    "pull",
    "push",
    "push_to",
    "verify_mirror",
]
