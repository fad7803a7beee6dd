"""A fit as a run: table, verdict, metrics; figures, tables and the report, all from its own segment."""

from collections.abc import Sequence

from schemas import CellJudged, Event, FitAnalysed, FitCompleted, GateVerdict, Metrics
from tracker._markdown import escape_markdown
from tracker._payloads import payloads
from tracker.figures import fit_figures
from tracker.mirror._bars import bars
from tracker.mirror._notes import markdown_table
from tracker.mirror._run_plan import safe_key
from tracker.mirror._told import FAILED, FINISHED, Told, point, table
from tracker.mlflow_store import MetricPoint
from tracker.report import REPORT_FILE, facts_of_events, render_report

SHOWN = 10
"""Failed gates that are told one by one."""

GROUP_WORDS = {"holdout": "held-out cells", "train": "training cells", "all": "all cells"}


def describe_fit(events: Sequence[Event]) -> Told | None:
    """The fit of one segment; None where it did not come to a table.

    Raises:
        InvalidInputError: an event's data is not what its type says.
    """
    for event, fit in payloads(events, "fit.completed", FitCompleted):
        groups = {**fit.metrics, "hand_set": fit.hand_set}
        verdict = "gates passed" if fit.passed else "gates failed"
        analysed = [found for _, found in payloads(events, "fit.analysed", FitAnalysed)]
        return Told(
            name=f"fit · {fit.table_id} · {verdict}",
            verdict=verdict,
            note=_note(fit, verdict, reported=bool(analysed)),
            params={
                "table_id": fit.table_id,
                "table_digest": fit.table_digest,
                "method": fit.arguments.method,
                "training_cells": str(len(fit.training_cells)),
                "holdout_cells": str(len(fit.holdout_cells)),
                "excluded_cells": str(len(fit.excluded_cells)),
                **{f"coefficient.{term}": str(value) for term, value in fit.table.items()},
            },
            metrics=[each for name, metrics in groups.items() for each in _judged(event, name, metrics)],
            status=FINISHED if fit.passed else FAILED,
            texts={
                "gates.json": _gates(fit),
                **(_analysed(events, fit, analysed[0]) if analysed else _bars(fit)),
            },
        )
    return None


def _note(fit: FitCompleted, verdict: str, *, reported: bool) -> str:
    """The verdict, what failed, and how well the table selects beside version 1."""
    failed = [each for each in fit.gates if not each.passed]
    lines = [
        f"Table {escape_markdown(fit.table_id)}, fitted on {len(fit.training_cells)} cells, "
        f"judged on {len(fit.holdout_cells)} held-out cells: **{verdict}**."
    ]
    if failed:
        told = [f"- {_failed_gate(each)}" for each in failed[:SHOWN]]
        more = [f"- … and {len(failed) - SHOWN} more, in the artifact `gates.json`"]
        lines.append("\n".join([*told, *more * (len(failed) > SHOWN)]))
    if reported:
        lines.append(f"The whole story, with figures, is in the artifact `{REPORT_FILE}`.")
    judged = [(words, fit.metrics.get(name)) for name, words in GROUP_WORDS.items()]
    rows = [(words, found) for words, found in [*judged, ("version 1, all cells", fit.hand_set)] if found]
    lines.append(
        markdown_table(
            ("on", "pairs", "ordered right %", "median regret %", "largest %"),
            [[words, str(found.ordered_pairs), *_percents(found)] for words, found in rows],
        )
    )
    lines.append(
        "Regret is how far the selected candidate lies above the fastest of its cell. Gates count what lies "
        "beyond the measured noise; here it is not taken off. Version 1 is the hand-set score, `hand_set` "
        "among the metrics."
    )
    return "\n\n".join(lines)


def _failed_gate(gate: GateVerdict) -> str:
    value = "nothing to judge" if gate.value is None else f"{gate.value:.2f}%"
    return f"{escape_markdown(gate.gate)} on {escape_markdown(gate.group)}: {value}, limit {gate.limit:g}%"


def _percents(found: Metrics) -> list[str]:
    share = None if found.pairwise_accuracy is None else found.pairwise_accuracy * 100
    numbers = (share, found.median_regret_pct, found.max_regret_pct)
    return ["–" if number is None else f"{number:.2f}" for number in numbers]


def _gates(fit: FitCompleted) -> str:
    return table(
        ("gate", "group", "value", "limit", "verdict", "detail"),
        [
            [g.gate, g.group, g.value, g.limit, "passed" if g.passed else "FAILED", g.detail]
            for g in fit.gates
        ],
    )


def _analysed(events: Sequence[Event], fit: FitCompleted, analysed: FitAnalysed) -> dict[str, str]:
    cells = [cell for _, cell in payloads(events, "fit.cell_judged", CellJudged)]
    figures = {f"figures/{name}": text for name, text in fit_figures(fit, analysed, cells).items()}
    return {
        **figures,
        REPORT_FILE: render_report(facts_of_events(events)),
        "cells.json": _cells(cells),
        "coefficients.json": table(
            ("term", "milli-us per unit", "low", "high"),
            [[term, each.value, each.low, each.high] for term, each in analysed.intervals.items()],
        ),
        "ablations.json": table(
            ("withheld", "name", "cells", "summed regret %", "p95 %", "max %", "ordered right"),
            [
                [
                    each.kind,
                    each.name,
                    each.metrics.cells,
                    each.summed_regret_pct,
                    each.metrics.p95_regret_pct,
                    each.metrics.max_regret_pct,
                    each.metrics.pairwise_accuracy,
                ]
                for each in analysed.ablations
            ],
        ),
    }


def _cells(cells: Sequence[CellJudged]) -> str:
    columns = (
        "cell", "state", "held out", "selected", "fastest", "regret %", "noise %", "unseen regret %",
        "version 1 regret %",
    )  # fmt: skip
    rows = [
        [cell.cell, cell.state, cell.held_out]
        + (
            [None] * 6
            if (found := cell.selection) is None
            else [
                found.selected,
                found.best,
                found.regret_pct,
                found.noise_pct,
                found.unseen_regret_pct,
                found.hand_set_regret_pct,
            ]
        )
        for cell in cells
    ]
    return table(columns, rows)


def _bars(fit: FitCompleted) -> dict[str, str]:
    """Figures of a fit that was recorded without its analysis."""
    judged = {
        **fit.metrics,
        **{f"model {name}": each for name, each in fit.by_model.items()},
        **{f"shape {name}": each for name, each in fit.by_shape.items()},
        **{f"family {name}": each for name, each in fit.by_family.items()},
        "version 1, all": fit.hand_set,
    }
    regrets = [(name, each.max_regret_pct) for name, each in judged.items()]
    right = [(name, each.pairwise_accuracy) for name, each in judged.items()]
    coefficients = [(term, float(value)) for term, value in sorted(fit.table.items())]
    return {
        "figures/coefficients.svg": bars("Coefficients", "milli-microseconds per unit", coefficients),
        "figures/regret.svg": bars("Largest regret", "%", [(n, v) for n, v in regrets if v is not None]),
        "figures/ordered.svg": bars(
            "Pairs ordered right", "%", [(n, v * 100) for n, v in right if v is not None]
        ),
    }


def _judged(event: Event, group: str, metrics: Metrics) -> list[MetricPoint]:
    values = {key: value for key, value in metrics.plain().items() if isinstance(value, (int, float))}
    return [point(event, f"{safe_key(group)}/{key}", value) for key, value in values.items()]
