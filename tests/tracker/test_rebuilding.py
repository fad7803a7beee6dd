"""Delete everything but the log: it comes back equal, certificates to the byte, versions to the number."""

import shutil
from pathlib import Path

import pytest

import planner
from tracker._certificates import certify_fit
from tracker._exclusions import exclude_cell
from tracker._fits import fit_campaign
from tracker._ledger import Ledger
from tracker._rebuilding import rebuild_ledger
from tracker._verification import verify_ledger
from tracker._versions import register_campaigns
from tracker.mirror import push
from tracker.mlflow_store import embedded_uri
from tracker.registry import MODEL, promote, record_review, rollback, versions

SHOWN = """
SELECT view_name FROM duckdb_views() WHERE NOT internal AND NOT starts_with(view_name, '_') ORDER BY ALL
"""


def contents(ledger: Ledger) -> dict[str, list[str]]:
    with ledger.warehouse.connect() as connection:
        names = [name for (name,) in connection.execute(SHOWN).fetchall()]
        return {name: sorted(map(repr, connection.execute(f"FROM {name}").fetchall())) for name in names}


def registry(ledger: Ledger):
    found = [
        (each.version, each.bundle_digest, each.description, each.aliases) for each in versions(ledger.log)
    ]
    loaded = [
        planner.load(MODEL, version=number, tracking_uri=embedded_uri(ledger.store)).digest
        for number, *_ in found
    ]
    return found, loaded


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def live(campaigns, store: Path) -> Ledger:
    """Two certified campaigns, versions 1 to 3, an alias that was moved twice and back."""
    for name in ("known", "second"):
        plan = campaigns.known_manifest(campaigns.TOML.replace('campaign = "known"', f'campaign = "{name}"'))
        ledger = campaigns.known_ledger(store, plan)
        fit_campaign(ledger, name)
        digest = certify_fit(ledger, name).digest
        for aspect, verdict in (("correctness", "clear"), ("adoption", "approve")):
            record_review(ledger.log, digest, aspect, verdict, by="ann", reason="looked at it")
        promote(ledger.log, "champion", register_campaigns(ledger, (name,)), by="ann", reason="next")
    rollback(ledger.log, "champion", by="ann", reason="slower elsewhere")
    exclude_cell(ledger, "second", plan.keys[0], reason="doubtful", reference="", by="ann")
    push(ledger.log)
    return ledger


@pytest.mark.slow
def test_all_but_the_log_is_made_again_equal(campaigns, tmp_path: Path):
    ledger = live(campaigns, tmp_path / "ledger")
    before = contents(ledger), registry(ledger), files(ledger.store / "certificates")
    assert [(number, aliases) for number, _, _, aliases in before[1][0]] == [
        (1, ()),
        (2, ("champion",)),
        (3, ()),
    ]
    segments = ledger.log.segments()
    for name in ("warehouse", "mlflow", "certificates"):
        shutil.rmtree(ledger.store / name)
    again = Ledger(ledger.store)
    rebuilt = rebuild_ledger(again)
    assert rebuilt.registry.versions == (1, 2, 3)
    assert dict(rebuilt.registry.aliases) == {"champion": 2}
    assert len(rebuilt.certificates) == 2
    assert rebuilt.mirrored.failed == ()
    assert (contents(again), registry(again), files(ledger.store / "certificates")) == before
    assert again.log.segments() == segments
    assert verify_ledger(again) == []
    rebuilt = rebuild_ledger(again)
    assert (rebuilt.registry.versions, rebuilt.certificates, rebuilt.mirrored.created) == ((), (), ())
