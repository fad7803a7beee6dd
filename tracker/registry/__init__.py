"""The registered model `layout-cost`: versions, reviews, aliases; every change is recorded in the log.

A version's number is the coefficient version. Its files, under the model's folder: `MLmodel`,
`layout_cost_model.py`, `artifacts/coefficients.json` and `artifacts/<certificate_file>` for each table.
"""

from tracker.registry._bundle import MODEL, make_bundle
from tracker.registry._history import Recorded, alias_moves, registrations, reviews
from tracker.registry._hold import holds_on, open_holds, place_hold, release_hold, target_words
from tracker.registry._promote import Promotion, observe_aliases, promote, recorded_aliases, rollback
from tracker.registry._register import register_bundle, register_hand_set
from tracker.registry._restore import RestoredRegistry, StatementOf, restore_registry
from tracker.registry._review import VERDICTS, Aspect, Verdict, find_certificate, record_review
from tracker.registry._rules import CheckCertificate
from tracker.registry._verify import verify_registry
from tracker.registry._versions import Version, alias_history, version_files, versions

__all__ = [
    "MODEL",
    "VERDICTS",
    "Aspect",
    "CheckCertificate",
    "Promotion",
    "Recorded",
    "RestoredRegistry",
    "StatementOf",
    "Verdict",
    "Version",
    "alias_history",
    "alias_moves",
    "find_certificate",
    "holds_on",
    "make_bundle",
    "observe_aliases",
    "open_holds",
    "place_hold",
    "promote",
    "record_review",
    "recorded_aliases",
    "register_bundle",
    "register_hand_set",
    "registrations",
    "release_hold",
    "restore_registry",
    "reviews",
    "rollback",
    "target_words",
    "verify_registry",
    "version_files",
    "versions",
]
