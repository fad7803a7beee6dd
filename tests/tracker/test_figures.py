"""Figures of a comparison: the same bytes again, well formed, one a question."""

import json
from xml.etree import ElementTree

import pytest

from fit import ablate_terms, compare, judge_cells
from tracker._figures import comparison_figures, terms_figure
from tracker._fits import fit_campaign
from tracker._fitting import fit_cells
from tracker.log import read_segment
from tracker.mirror import project_segment, push, verify_mirror

TERMS = ("token_per_rank", "tiny_segment_per_layer", "gdn_level")


@pytest.fixture(scope="module")
def ledger(campaigns, tmp_path_factory):
    return campaigns.known_ledger(tmp_path_factory.mktemp("known") / "ledger")


@pytest.fixture(scope="module")
def compared(ledger):
    cells = fit_cells(ledger.certified_cells("known"))
    reports = compare(cells, TERMS, methods=("nnls", "rank-margin"), replicates=10)
    return cells, reports, ablate_terms(cells, TERMS, "nnls")


def test_every_figure_is_there_and_comes_again_to_the_byte(compared):
    figures = comparison_figures(*compared)
    assert set(figures) == {"predicted.svg", "regret.svg", "coefficients.svg", "terms.svg", "ablation.svg"}
    assert comparison_figures(*compared) == figures
    for text in figures.values():
        assert ElementTree.fromstring(text).tag.endswith("svg")
        assert "<dc:date>" not in text


def test_figures_name_their_cells_methods_and_terms(compared):
    cells, reports, _ = compared
    figures = comparison_figures(*compared)
    for cell in cells:
        assert cell.key in figures["regret.svg"] and cell.key in figures["terms.svg"]
    for report in reports:
        assert report.method in figures["coefficients.svg"] and report.method in figures["regret.svg"]
    for term in TERMS:
        assert term in figures["coefficients.svg"] and term in figures["ablation.svg"]


def test_a_cells_terms_add_up_to_its_predicted_time(compared, campaigns):
    cells, _, _ = compared
    (axes,) = terms_figure(cells, campaigns.TRUTH).axes
    ends = [0.0] * len(cells)
    for bar in axes.patches:
        row = round(bar.get_y() + bar.get_height() / 2)
        ends[row] = max(ends[row], bar.get_x() + bar.get_width())
    for verdict, end in zip(judge_cells(cells, campaigns.TRUTH), ends, strict=True):
        # The known times: five milliseconds and what the true table says, by the median round's factor.
        assert end == pytest.approx(verdict.selected_ms / 1.0025 - 5, rel=1e-6)


def test_without_an_ablation_there_is_no_such_figure(compared):
    cells, reports, _ = compared
    assert "ablation.svg" not in comparison_figures(cells, reports, {})


def test_a_fits_run_carries_its_figures_and_the_mirror_verifies(ledger):
    recorded = fit_campaign(ledger, "known", method="nnls")
    place = ledger.log.find(recorded.id)
    plan = project_segment(read_segment(place.path), place.path)
    names = {path for path in plan.texts if path.startswith("figures/")}
    assert names == {"figures/coefficients.svg", "figures/ordered.svg", "figures/regret.svg"}
    assert "gdn_level" in plan.texts["figures/coefficients.svg"]
    push(ledger.log)
    assert push(ledger.log).created == ()
    assert verify_mirror(ledger.log) == []


def test_the_figures_of_a_comparison_are_written(ledger, tmp_path, monkeypatch):
    from click.testing import CliRunner

    from tracker.cli import cli

    monkeypatch.setenv("LAYOUTLEDGER_STORE", str(ledger.store))
    options = ["fit", "compare", "known", "--method", "nnls", "--figures", str(tmp_path / "f"), "--json"]
    answer = CliRunner().invoke(cli, options)
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)[0]["method"] == "nnls"
    assert len(list((tmp_path / "f").glob("*.svg"))) == 5
