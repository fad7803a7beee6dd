"""Figures of fits and comparisons: the same bytes again, well formed, nothing outside of the picture."""

import json
import re
from xml.etree import ElementTree

import pytest

from fit import ablate_terms, compare, judge_cells
from schemas import CellJudged, FitAnalysed
from tracker._fits import fit_campaign
from tracker._fitting import fit_cells
from tracker.figures import comparison_figures, fit_figures
from tracker.figures._compared import _terms
from tracker.log import read_segment
from tracker.mirror import project_segment, push, verify_mirror

TERMS = ("token_per_rank", "tiny_segment_per_layer", "gdn_level")
NAMES = {"predicted.svg", "predicted-by-cell.svg", "regret.svg", "coefficients.svg", "terms.svg"}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def ledger(campaigns, tmp_path_factory):
    return campaigns.known_ledger(tmp_path_factory.mktemp("known") / "ledger")


@pytest.fixture(scope="module")
def recorded(ledger):
    return fit_campaign(ledger, "known", method="nnls")


@pytest.fixture(scope="module")
def events(ledger, recorded):
    return read_segment(ledger.log.find(recorded.id).path)


@pytest.fixture(scope="module")
def drawn(recorded, events):
    cells = [CellJudged.parse(e.data, where="cell") for e in events if e.type == "fit.cell_judged"]
    (analysed,) = [FitAnalysed.parse(e.data, where="fit") for e in events if e.type == "fit.analysed"]
    return recorded.result, analysed, cells


@pytest.fixture(scope="module")
def compared(ledger):
    cells = fit_cells(ledger.certified_cells("known"))
    reports = compare(cells, TERMS, methods=("nnls", "rank-margin"), replicates=10)
    return cells, reports, ablate_terms(cells, TERMS, "nnls")


def outside(svg: str) -> list[str]:
    """Texts that begin or end outside of the picture, by a generous width of a letter."""
    root = ElementTree.fromstring(svg)
    width, height = float(root.get("width")), float(root.get("height"))
    found = []
    for text in root.iter(f"{SVG}text"):
        shown = "".join(part for part in (text.text or "", *(child.tail or "" for child in text)))
        x, y, size = (float(text.get(name)) for name in ("x", "y", "font-size"))
        long = len(shown) * size * 0.61
        start = x - {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor")] * long
        turned = text.get("transform") is not None
        if not (0 <= y <= height and (turned or (start >= -1 and start + long <= width + 1))):
            found.append(shown)
    return found


def test_a_comparisons_figures_are_there_and_come_again_to_the_byte(compared):
    figures = comparison_figures(*compared)
    assert set(figures) == NAMES | {"ablation.svg"}
    assert comparison_figures(*compared) == figures
    for text in figures.values():
        assert ElementTree.fromstring(text).tag == f"{SVG}svg"
        assert outside(text) == []


def test_a_fits_figures_come_from_its_own_events_alone(drawn):
    figures = fit_figures(*drawn)
    assert set(figures) == NAMES | {"ablation.svg"}
    assert fit_figures(*drawn) == figures
    for text in figures.values():
        assert outside(text) == []


def test_figures_tell_those_who_cannot_see_what_they_show(drawn):
    for name, text in fit_figures(*drawn).items():
        root = ElementTree.fromstring(text)
        title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
        assert root.get("role") == "img" and title.text and len(description.text) > 40, name
        assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"


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
    rows = _terms(cells, campaigns.TRUTH)
    for verdict, row in zip(judge_cells(cells, campaigns.TRUTH), rows, strict=True):
        # The known times: five milliseconds and what the true table says, by the median round's factor.
        assert sum(row.terms.values()) == pytest.approx((verdict.selected_ms / 1.0025 - 5) * 1000, abs=2)
        assert row.measured_us == pytest.approx(verdict.selected_ms * 1000, abs=1)


def test_what_is_predicted_as_it_was_measured_stands_on_the_diagonal(drawn):
    root = ElementTree.fromstring(fit_figures(*drawn)["predicted.svg"])
    (line,) = [each for each in root.iter(f"{SVG}line") if each.get("stroke-width") == "1.2"][:1]
    x1, y1, x2, y2 = (float(line.get(name)) for name in ("x1", "y1", "x2", "y2"))
    points = [e for e in root.iter(f"{SVG}circle") if e.find(f"{SVG}title") is not None]
    assert points
    for point in points:
        measured, predicted = map(float, re.findall(r"[-+][\d.]+(?=%)", point[0].text))
        on_line = y1 + (float(point.get("cx")) - x1) * (y2 - y1) / (x2 - x1)
        above = on_line - float(point.get("cy"))
        assert above * (predicted - measured) > 0 or abs(above) < 1


def test_names_of_any_length_stay_inside(drawn):
    result, analysed, cells = drawn
    long = [cell.model_copy(update={"cell": cell.cell + "|" + "wide" * 60}) for cell in cells]
    for text in fit_figures(result, analysed, long).values():
        assert outside(text) == []


def test_a_fit_that_was_recorded_without_its_analysis_is_drawn_without_intervals(drawn):
    result, _, cells = drawn
    figures = fit_figures(result, None, cells)
    assert set(figures) == NAMES
    assert "recorded no intervals" in figures["coefficients.svg"]


def test_without_an_ablation_there_is_no_such_figure(compared):
    cells, reports, _ = compared
    assert "ablation.svg" not in comparison_figures(cells, reports, {})


def test_a_fits_run_carries_its_figures_and_report_and_the_mirror_verifies(ledger, recorded, events):
    place = ledger.log.find(recorded.id)
    plan = project_segment(events, place.path)
    names = {path.removeprefix("figures/") for path in plan.texts if path.startswith("figures/")}
    assert names == NAMES | {"ablation.svg"}
    assert "gdn_level" in plan.texts["figures/coefficients.svg"]
    assert plan.texts["report.html"].startswith("<!doctype html>")
    assert json.loads(plan.texts["cells.json"])["columns"][0] == "cell"
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
    assert {path.name for path in (tmp_path / "f").glob("*.svg")} == NAMES | {"ablation.svg"}
