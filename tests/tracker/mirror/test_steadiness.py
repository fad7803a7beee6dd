"""A run says whether its attempt drifted or stalled, by the rules of the views."""

import duckdb
import numpy as np
import pytest

from schemas import CellCompleted, SampleRecorded
from tracker.log import Log, read_segment
from tracker.mirror import RunPlan, project_segment
from tracker.mirror._steadiness import find_drift, find_stalls, steadiness_label, steadiness_words
from tracker.warehouse._views import view_sources

LABELS = ("depth_one", "full_sharing", "no_sharing")


def samples_of(times: np.ndarray, usable: np.ndarray | None = None) -> list[SampleRecorded]:
    """Samples of one attempt from (rounds, candidates) milliseconds."""
    counts = np.ones(times.shape, bool) if usable is None else usable
    return [
        SampleRecorded(
            cell="cell",
            candidate=LABELS[place],
            role="measured",
            round=number,
            position=place,
            ms=float(ms),
            ms_ranks=(float(ms),),
            compile_events=0,
            run_delay_pct=(0.0,),
            loss=1.0,
            usable=bool(counts[number, place]),
            reason=None if counts[number, place] else "disturbed: much",
        )
        for number, row in enumerate(times)
        for place, ms in enumerate(row)
    ]


def views_over(attempts: list[list[SampleRecorded]]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    rows = [
        (number, each.candidate, each.round, each.position, each.ms, each.usable, each.reason)
        for number, samples in enumerate(attempts)
        for each in samples
    ]
    columns = ("attempt", "candidate", "round", "position", "ms", "usable", "reason")
    given = dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))
    arrays = {name: np.array(values, object if name == "reason" else None) for name, values in given.items()}
    connection.register("given", arrays)
    connection.execute(
        """
        CREATE VIEW samples AS SELECT 'c' AS campaign, 'cell' AS cell, 'measured' AS role, *,
            NULL AS time, 0 AS seq FROM given;
        CREATE TABLE campaigns (campaign VARCHAR, separation_pct DOUBLE);
        CREATE VIEW attempt_medians AS SELECT campaign, cell, attempt, candidate, median(ms) AS median_ms
            FROM samples WHERE usable GROUP BY ALL;
        """
    )
    for name in ("37_stalls.sql", "38_attempt_drift.sql"):
        connection.execute(view_sources()[name])
    return connection


def test_it_flags_what_the_views_flag():
    draw = np.random.default_rng(3)
    attempts = []
    for _ in range(60):
        rounds = int(draw.integers(1, 12))
        shape = (rounds, len(LABELS))
        times = np.exp(draw.choice([0.0, 0.05]) * np.arange(rounds)[:, None] + draw.normal(2, 0.05, shape))
        times[draw.random(shape) < 0.05] *= 4
        attempts.append(samples_of(times.round(6), draw.random(shape) < 0.9))
    views = views_over(attempts)
    drifts = {
        row[0]: row[1:]
        for row in views.execute(
            "SELECT attempt, rounds, change_pct, p_value, drifting FROM attempt_drift"
        ).fetchall()
    }
    stalls: dict[int, list[tuple[int, str]]] = {}
    for attempt, candidate, number in views.execute(
        "SELECT attempt, candidate, round FROM stalls WHERE usable ORDER BY round, candidate"
    ).fetchall():
        stalls.setdefault(attempt, []).append((number, candidate))
    flagged = 0
    for number, samples in enumerate(attempts):
        found = find_drift(samples)
        assert (found is None) == (number not in drifts)
        if found is not None:
            rounds, change, chance, drifting = drifts[number]
            assert (found.rounds, found.told) == (rounds, drifting)
            assert (found.change_pct, found.chance) == pytest.approx((change, chance), abs=1e-4)
            flagged += found.told
        seen = find_stalls(samples)
        assert [(each.round, each.candidate) for each in seen] == stalls.get(number, [])
    assert 10 < flagged < 40
    assert 5 < len(stalls) < 60


def test_what_stands_out_is_said_in_words_and_nothing_else_is():
    calm = samples_of(np.full((6, 3), 10.0))
    assert steadiness_label(find_drift(calm), find_stalls(calm)) == ""
    assert steadiness_words(find_drift(calm), find_stalls(calm)) == ""
    times = 10.0 * np.exp(-0.04 * np.arange(8))[:, None].repeat(3, 1)
    times[7, 1] = 90.0
    moved = samples_of(times)
    drift, stalls = find_drift(moved), find_stalls(moved)
    assert steadiness_label(drift, stalls) == "drift -24%, 1 stall"
    words = steadiness_words(drift, stalls)
    assert "ran 24% faster in the last of the 8 rounds" in words
    assert "full_sharing in round 7 (9.9 times)" in words


def test_many_stalls_are_counted_and_a_few_are_named():
    times = np.full((40, 3), 10.0) + np.arange(40)[:, None] % 2
    times[5:9, :] = 80.0
    words = steadiness_words(None, find_stalls(samples_of(times)))
    assert words.startswith("**Stalls:** 12 samples far above") and "and 7 more." in words


def plan_of(tmp_path, evidence, times: np.ndarray) -> RunPlan:
    log, cell = Log(tmp_path), evidence.identity("grpo-0")
    with log.open_segment("first", "attempt", {"cell": cell.key, "attempt": "1"}) as segment:
        evidence.begin_attempt(segment, cell)
        for sample in samples_of(times):
            segment.append("sample.recorded", sample.plain(), durable=False)
        done = CellCompleted(cell=cell.key, usable={}, rank_reports=({},), wall_s=1.0)
        segment.append("cell.completed", done.plain())
        place = segment.seal()
    return project_segment(read_segment(place.path), place.path)


def test_the_run_of_an_attempt_that_drifted_shows_it(tmp_path, evidence):
    rising = 10.0 * np.exp(0.03 * np.arange(7))[:, None].repeat(3, 1)
    plan = plan_of(tmp_path, evidence, rising)
    metrics = {each.key: each.value for each in plan.metrics}
    assert metrics["drift_pct"] == pytest.approx(100 * np.expm1(0.18), abs=1e-4)
    assert (metrics["stalls"], metrics["drift_chance"] < 0.01) == (0, True)
    assert plan.params["unsteady"] == "drift +20%"
    assert "**completed**, unsteady: drift +20%." in plan.tags["mlflow.note.content"]
    assert "20% slower in the last of the 7 rounds" in plan.tags["mlflow.note.content"]


def test_the_run_of_a_steady_attempt_says_nothing_of_it(tmp_path, evidence):
    plan = plan_of(tmp_path, evidence, np.full((5, 3), 10.0))
    assert "unsteady" not in plan.params
    assert "unsteady" not in plan.tags["mlflow.note.content"]
    assert "Drift" not in plan.tags["mlflow.note.content"]
    assert {"drift_pct", "drift_chance", "stalls"} <= {each.key for each in plan.metrics}
