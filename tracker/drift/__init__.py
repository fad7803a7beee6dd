"""Before and after a change: which times moved, what would be chosen, is the promoted version still good."""

from tracker.drift._campaigns import CampaignDrift, FingerprintChange, compare_campaigns
from tracker.drift._production import Production, production_drift
from tracker.drift._version import TableVerdict, VersionVerdict, judge_version, promoted_version

__all__ = [
    "CampaignDrift",
    "FingerprintChange",
    "Production",
    "TableVerdict",
    "VersionVerdict",
    "compare_campaigns",
    "judge_version",
    "production_drift",
    "promoted_version",
]
