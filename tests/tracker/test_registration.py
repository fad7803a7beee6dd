"""Holdout and gates stand before the first sample, and no held-out cell is trained on: from the log."""

import shutil

import pytest

from schemas import IncompleteEvidenceError
from tracker._campaigns import open_campaign
from tracker._certificates import certify_fit, latest_certificate
from tracker._fits import fit_campaign
from tracker._ledger import Ledger
from tracker._registration import registered_before
from tracker.certificate import build_statement, check_log

FIRST, LATER = "2026-01-01T00:00:00.000001Z", "2026-01-01T00:00:00.000002Z"


@pytest.fixture
def ledger(certified_once, tmp_path):
    """The campaign `known`, fitted and certified as it should be."""
    return Ledger(shutil.copytree(certified_once, tmp_path / "ledger"))


@pytest.mark.parametrize(
    ("opened", "first", "before"),
    [(FIRST, LATER, True), (LATER, FIRST, False), (FIRST, FIRST, False), (FIRST, None, True)],
)
def test_only_what_stands_before_the_first_sample_is_before(opened, first, before):
    assert registered_before(opened, first) is before


def test_a_campaign_registered_after_its_first_sample_is_not_fitted(campaigns, tmp_path):
    ledger, manifest = Ledger(tmp_path / "ledger"), campaigns.known_manifest()
    campaigns.record_cell(ledger, "known", manifest.cells[0])
    open_campaign(ledger, manifest)
    for cell in manifest.cells[1:]:
        campaigns.record_cell(ledger, "known", cell)
    before = ledger.log.segments()
    with pytest.raises(IncompleteEvidenceError, match="after its first sample"):
        fit_campaign(ledger, "known")
    assert ledger.log.segments() == before


def recorded_misuse(ledger):
    """A fit in the log that claims to have trained on the held-out cell too."""
    _, result = ledger.warehouse.fits("known")[0]
    everything = (*result.training_cells, *result.holdout_cells)
    misused = result.model_copy(update={"training_cells": everything})
    with ledger.log.open_segment("known", "fit") as segment:
        segment.append("fit.completed", misused.plain())
    return segment.segment, misused


def test_a_recorded_fit_that_trained_on_a_held_out_cell_is_not_certified(ledger):
    fit, _ = recorded_misuse(ledger)
    with pytest.raises(IncompleteEvidenceError, match="held-grpo"):
        certify_fit(ledger, "known", fit)


def test_the_check_finds_a_certificate_whose_fit_trained_on_a_held_out_cell(ledger):
    fit, misused = recorded_misuse(ledger)
    segments = misused.evidence.segments
    cells = ledger.certified_cells("known", segments)
    statement = build_statement(fit, misused, ledger.manifest("known"), cells, ())
    checks = {check.name: check for check in check_log(statement, ledger)}
    assert not checks["no held-out cell was fitted on"].passed
    assert "held-grpo" in checks["no held-out cell was fitted on"].detail


def test_the_check_passes_what_kept_to_the_holdout(ledger):
    statement = latest_certificate(ledger, "known").statement
    assert all(check.passed for check in check_log(statement, ledger))
