"""A cell attempt as a run: identity, medians, spreads, regret, and each round's time."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from schemas import AUTOMATIC, CellCompleted, CellDescribed, CellFailed, CellStarted, Event, SampleRecorded
from tracker._markdown import escape_markdown
from tracker._payloads import payloads
from tracker.mirror._notes import markdown_table
from tracker.mirror._run_plan import safe_key
from tracker.mirror._steadiness import find_drift, find_stalls, steadiness_label, steadiness_words
from tracker.mirror._told import FAILED, FINISHED, KILLED, Told, point, table
from tracker.mlflow_store import MetricPoint


def describe_attempt(events: Sequence[Event]) -> Told | None:
    """The attempt of one segment; None where it did not even begin.

    Raises:
        InvalidInputError: an event's data is not what its type says.
    """
    started = payloads(events, "cell.started", CellStarted)
    failed = payloads(events, "cell.failed", CellFailed)
    completed = payloads(events, "cell.completed", CellCompleted)
    if not started and not failed:
        return None
    cell = started[0][1].cell if started else failed[0][1].cell
    number = str(started[0][1].number) if started else events[0].subject.get("attempt", "")
    status, verdict = _verdict(failed, completed)
    samples = payloads(events, "sample.recorded", SampleRecorded)
    texts: dict[str, str] = {}
    rows, metrics = _candidates(samples, events[-1])
    if rows:
        texts["candidates.json"] = table(
            ("candidate", "median_ms", "spread_pct", "regret_pct", "usable"), rows
        )
    params, ended = _adaptive_end(completed)
    steady = _steadiness([sample for _, sample in samples], events[-1])
    if failed and failed[0][1].log_tail:
        texts["log-tail.txt"] = failed[0][1].log_tail
    if started:
        texts["environment.json"] = json.dumps(started[0][1].environment, indent=1, sort_keys=True)
    return Told(
        name=_name(cell, number, verdict, status),
        verdict=verdict,
        status=status,
        note=_note(cell, number, verdict, failed, rows, steady),
        params={
            **_identity(started),
            **_described(payloads(events, "cell.described", CellDescribed)),
            **params,
            "unsteady": steady.label,
            **({"fastest": _fastest(rows)} if completed else {}),
        },
        metrics=[*metrics, *ended, *steady.metrics],
        texts=texts,
    )


def _verdict(
    failed: Sequence[tuple[Event, CellFailed]], completed: Sequence[tuple[Event, CellCompleted]]
) -> tuple[str, str]:
    if failed:
        kind = failed[0][1].kind
        return (KILLED if kind == "interrupted" else FAILED), kind.replace("_", " ")
    return (FINISHED, "completed") if completed else (KILLED, "without an end")


def _adaptive_end(
    completed: Sequence[tuple[Event, CellCompleted]],
) -> tuple[dict[str, str], list[MetricPoint]]:
    """Why an attempt under an adaptive protocol ended, and the rounds that it ran and saved."""
    for event, record in completed:
        if record.end is not None:
            end = record.end
            return {"stopped": end.reason}, [
                point(event, "rounds", end.rounds),
                point(event, "rounds_saved", end.saved),
            ]
    return {}, []


@dataclass(frozen=True, slots=True)
class _Steadiness:
    """What is told of how steady an attempt was; label and words are empty where nothing stands out."""

    label: str
    words: str
    metrics: Sequence[MetricPoint]


def _steadiness(samples: Sequence[SampleRecorded], end: Event) -> _Steadiness:
    drift, stalls = find_drift(samples), find_stalls(samples)
    metrics = [point(end, "stalls", len(stalls))] if samples else []
    if drift is not None:
        metrics += [point(end, "drift_pct", drift.change_pct), point(end, "drift_chance", drift.chance)]
    return _Steadiness(steadiness_label(drift, stalls), steadiness_words(drift, stalls), metrics)


def _identity(started: Sequence[tuple[Event, CellStarted]]) -> dict[str, str]:
    if not started:
        return {}
    begun = started[0][1]
    identity, shape = begun.identity, begun.identity.shape
    return {
        "cell": begun.cell,
        "workload": identity.workload,
        "family": identity.family,
        "model": identity.model,
        "layers": str(identity.layers),
        "shape": shape.label(),
        "tp": str(shape.tp),
        "cp": str(shape.cp),
        "ep": str(shape.ep),
        "etp": str(shape.etp),
        "group": "" if identity.group is None else str(identity.group),
        "attempt": str(begun.number),
        "engine": begun.engine,
    }


def _described(described: Sequence[tuple[Event, CellDescribed]]) -> dict[str, str]:
    if not described:
        return {}
    built = described[0][1]
    return {
        "rows": str(built.rows),
        "tokens": str(built.tokens),
        "tree_decisions": str(built.tree_decisions),
        "tree_segments": str(built.tree_segments),
        "automatic": built.automatic.label,
        "automatic_version": str(built.automatic_version),
        "gdn_layers": str(built.facts.gdn_layers),
        "source": built.fingerprint.source,
        "workload_digest": built.fingerprint.workload,
        "device": built.fingerprint.device,
        "dtype": built.fingerprint.dtype,
    }


def _candidates(
    samples: Sequence[tuple[Event, SampleRecorded]], end: Event
) -> tuple[list[list[object]], list[MetricPoint]]:
    """A row a candidate (median, spread, regret over usable samples) and every measured round as a metric."""
    usable: dict[str, list[float]] = {}
    points: list[MetricPoint] = []
    for event, sample in samples:
        if sample.role != "measured":
            continue
        kind = "by_round_ms" if sample.usable else "by_round_unusable_ms"
        points.append(point(event, f"{kind}/{safe_key(sample.candidate)}", sample.ms, sample.round))
        if sample.usable:
            usable.setdefault(sample.candidate, []).append(sample.ms)
    medians = {label: median(times) for label, times in usable.items()}
    best = min(medians.values(), default=0.0)
    rows: list[list[object]] = []
    for label, middle in sorted(medians.items()):
        times = usable[label]
        spread = 100 * (max(times) - min(times)) / middle if middle else 0.0
        regret = 100 * (middle - best) / best if best else 0.0
        rows.append([label, middle, spread, regret, len(times)])
        key = safe_key(label)
        points += [
            point(end, f"median_ms/{key}", middle),
            point(end, f"spread_pct/{key}", spread),
            point(end, f"regret_pct/{key}", regret),
            point(end, f"usable/{key}", len(times)),
        ]
    return rows, points


def _fastest(rows: Sequence[Sequence[object]]) -> str:
    """Label of the candidate of the least median; the planner's own choice is one of them by another name."""
    medians = {str(row[0]): float(str(row[1])) for row in rows if row[0] != AUTOMATIC}
    return min(medians, key=medians.__getitem__, default="")


def _name(cell: str, number: str, verdict: str, status: str) -> str:
    """Lists cut names short: what went wrong stands first."""
    named = f"{cell} · attempt {number}"
    return f"{named} · {verdict}" if status == FINISHED else f"{verdict} · {named}"


def _note(
    cell: str,
    number: str,
    verdict: str,
    failed: Sequence[tuple[Event, CellFailed]],
    rows: Sequence[Sequence[object]],
    steady: _Steadiness,
) -> str:
    # The page folds all but the first lines away.
    unsteady = f", unsteady: {steady.label}" if steady.label else ""
    lines = [
        f"Attempt {escape_markdown(number)} of cell {escape_markdown(cell)}: "
        f"**{escape_markdown(verdict)}**{unsteady}."
    ]
    lines += [_failure(failure) for _, failure in failed[:1]]
    if rows and not failed:
        lines.append(
            f"Fastest: **{escape_markdown(_fastest(rows))}**, by the median of its usable rounds. "
            "Regret is how much longer a candidate takes than the fastest."
        )
    if steady.words:
        lines.append(steady.words)
    if rows:
        lines.append(
            markdown_table(
                ("candidate", "median ms", "spread %", "regret %", "usable rounds"),
                [
                    [escape_markdown(str(r[0])), f"{r[1]:.3f}", f"{r[2]:.1f}", f"{r[3]:.2f}", str(r[4])]
                    for r in sorted(rows, key=lambda row: float(str(row[1])))
                ],
            )
        )
    return "\n\n".join(lines)


def _failure(failed: CellFailed) -> str:
    """What ended the attempt, and what it leaves."""
    parts = [escape_markdown(failed.message)]
    if failed.exit_codes:
        codes = ", ".join("none" if code is None else str(code) for code in failed.exit_codes)
        parts.append(f"Exit codes by rank: {codes}.")
    if failed.last_collectives:
        calls = [f"- {escape_markdown(call)}" for call in failed.last_collectives]
        parts.append("\n".join(["Last collective of each rank:\n", *calls]))
    parts.append(
        f"The {failed.samples} samples that it had stay as evidence, and count for nothing. "
        + ("The end of its log is in the artifact `log-tail.txt`. " if failed.log_tail else "")
        + "`layoutledger campaign resume` measures the cell again."
    )
    return "\n\n".join(parts)
