"""A report as one HTML page: no scripts, nothing from elsewhere, the same bytes for the same facts."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from tracker.figures import ablation_note, ablation_row, coefficient_rows, fit_figures
from tracker.report import _view
from tracker.report._facts import ReportFacts

REPORT_FILE = "report.html"
TEMPLATES = ("report.html", "report.css")

# What hides or reorders text, or is not allowed in HTML at all; line ends stay, for log tails.
_CONTROL = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]"
)


def render_report(facts: ReportFacts) -> str:
    """The page.

    Everything that comes from evidence is escaped, and what would hide or reorder text becomes a sign.
    """
    fit = facts.fit
    figures: Mapping[str, str] = fit_figures(fit.result, fit.analysed, facts.cells) if fit else {}
    return (
        _environment()
        .get_template("report.html")
        .render(
            facts=facts,
            fit=fit,
            analysed=fit.analysed if fit else None,
            totals=_view.totals(facts.cells),
            rows=_view.cell_rows(facts.cells),
            devices=_view.devices(facts.cells),
            topology=_view.topology(facts.cells),
            gates=_view.gate_grid(fit.result.gates) if fit else None,
            metrics=_view.metric_rows(fit) if fit else [],
            coefficients=coefficient_rows(fit.result, fit.analysed) if fit else [],
            ablations=[ablation_row(each) for each in fit.analysed.ablations] if fit and fit.analysed else [],
            ablation_note=ablation_note(fit.analysed) if fit and fit.analysed else "",
            certificate_file=_view.certificate_file(facts),
            term_words=_view.TERM_WORDS,
            gate_words=_view.GATE_WORDS,
            # Drawn here from numbers and escaped names alone.
            figures={name.removesuffix(".svg"): Markup(text) for name, text in figures.items()},
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finalize,
    )
    # The library leaves open what kind of thing a filter is.
    filters: Any = environment.filters  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    filters.update(num=_number, count=_count, name=_name)
    return environment


def _source(name: str) -> str | None:
    return (files("tracker") / "templates" / name).read_text("utf-8") if name in TEMPLATES else None


def _finalize(value: Any) -> Any:
    if value is None:
        return "–"
    if isinstance(value, str) and not isinstance(value, Markup):
        return _CONTROL.sub("\ufffd", value)
    return value


def _name(value: str) -> Markup:
    """A name that breaks after its joints where it has to, rather than within a word."""
    parts = re.split(r"(?<=[_|])", _finalize(value))
    return Markup("<wbr>").join(part for part in parts if part)


def _number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
