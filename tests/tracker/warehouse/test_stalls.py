"""The view `stalls` against the rule that the harness itself uses."""

import statistics

import duckdb
import numpy as np

from harness._stall import stalled
from tracker.warehouse._sources import view_sources

SAMPLES = """
CREATE TABLE samples (campaign VARCHAR, cell VARCHAR, attempt VARCHAR, candidate VARCHAR, role VARCHAR,
    round INTEGER, position INTEGER, ms DOUBLE, usable BOOLEAN, reason VARCHAR, time TIMESTAMP, seq INTEGER);
CREATE TABLE attempt_medians (campaign VARCHAR, cell VARCHAR, attempt VARCHAR, candidate VARCHAR,
    median_ms DOUBLE);
"""


def view_over(times: dict[str, list[float]]) -> duckdb.DuckDBPyConnection:
    """The view over usable samples of one attempt, by candidate and round."""
    connection = duckdb.connect()
    connection.execute(SAMPLES)
    rows = [
        ("c", "cell", "a", name, "measured", number, 0, ms, True, None, None, number)
        for name, own in times.items()
        for number, ms in enumerate(own)
    ]
    connection.execute("BEGIN")
    connection.executemany(f"INSERT INTO samples VALUES ({', '.join('?' * 12)})", rows)
    medians = [("c", "cell", "a", name, statistics.median(own)) for name, own in times.items()]
    connection.executemany("INSERT INTO attempt_medians VALUES (?, ?, ?, ?, ?)", medians)
    connection.execute("COMMIT")
    connection.execute(view_sources()["37_stalls.sql"])
    return connection


def test_the_view_flags_what_the_harness_flags():
    draw, times = np.random.default_rng(1), {}
    for number in range(40):
        own = draw.normal(10, draw.choice([0.1, 1.0, 4.0]), size=draw.integers(1, 12)).clip(0.5)
        own[draw.random(len(own)) < 0.15] *= draw.choice([1.6, 3.0, 10.0])
        times[f"k{number:02}"] = [round(float(ms), 6) for ms in own]
    expected = {
        (name, number) for name, own in times.items() for number, flag in enumerate(stalled(own)) if flag
    }
    assert 10 < len(expected) < sum(map(len, times.values())) / 5
    assert set(view_over(times).execute("SELECT candidate, round FROM stalls").fetchall()) == expected


def test_a_stalled_sample_stays_usable_is_told_with_its_size_and_the_median_stands(recorder, warehouse):
    cell = recorder.cells[0]
    calm = dict.fromkeys(recorder.labels, (10.0, 10.1, 9.9, 10.0, 10.2))
    recorder.attempt("demo", cell, calm)
    before = list(warehouse.query("SELECT candidate, median_ms FROM candidate_medians").rows())
    assert list(warehouse.query("FROM stalls").rows()) == []
    recorder.attempt("demo", cell, {**calm, "depth_one": (10.0, 10.1, 9.9, 70.0, 10.2)}, number=2)
    found = warehouse.query("SELECT candidate, round, ms, median_ms, usable FROM stalls").rows()
    assert list(found) == [("depth_one", 3, 70.0, 10.1, True)]
    after = list(warehouse.query("SELECT candidate, median_ms FROM candidate_medians").rows())
    assert [round(ms, 1) for _, ms in before] == [10.0] * 3
    # From one middle sample to the next: a hundredth, where the mean moves to more than the double.
    assert [round(ms, 1) for _, ms in after] == [10.1, 10.0, 10.0]


def test_a_disturbed_sample_is_told_too_and_is_still_not_usable(recorder, warehouse):
    cell = recorder.cells[0]
    segment = recorder.begin("demo", cell)
    for number, ms in enumerate((10.0, 10.1, 9.9)):
        segment.append("sample.recorded", recorder.sample(cell, "depth_one", number, ms))
    slow = recorder.sample(cell, "depth_one", 3, 90.0, usable=False, reason="disturbed: much")
    segment.append("sample.recorded", slow)
    recorder.complete(segment, cell)
    assert list(warehouse.query("SELECT round, usable, reason FROM stalls").rows()) == [
        (3, False, "disturbed: much")
    ]
