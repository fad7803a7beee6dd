import statistics

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker.log import read_segment
from tracker.warehouse._kinds import create_rules
from tracker.warehouse._sources import view_sources

DOCUMENTED = """
events campaigns cells attempts candidates samples candidate_medians pairs failures exclusions fits
coefficient_tables certificates versions promotions reviews holds memory_observations
memory_profiles selections
"""


def rows(warehouse, sql):
    return list(warehouse.query(sql).rows())


def test_every_view_of_the_design_is_there_and_every_column_explained(warehouse):
    found = rows(
        warehouse,
        "SELECT c.table_name, c.column_name, c.comment, v.comment FROM duckdb_columns() AS c "
        "JOIN duckdb_views() AS v ON v.view_name = c.table_name "
        "WHERE NOT c.internal AND NOT starts_with(c.table_name, '_')",
    )
    assert set(DOCUMENTED.split()) <= {row[0] for row in found}
    assert [row for row in found if not row[2] or not row[3]] == []


def test_one_view_a_file_named_as_the_file():
    for name, text in view_sources().items():
        view = name.removesuffix(".sql").split("_", 1)[1]
        assert text.count("CREATE") == 1
        assert f" {view} AS" in text or f" _{view} AS" in text or f" {view}(lines) AS" in text


def test_a_median_is_the_exact_one_of_usable_measured_samples(recorder, warehouse):
    cell = recorder.cells[0]
    segment = recorder.begin("demo", cell)
    values = [0.1, 0.2, 0.30000000000000004, 0.7]
    for round, ms in enumerate(values):
        segment.append("sample.recorded", recorder.sample(cell, "depth_one", round, ms))
    segment.append(
        "sample.recorded", recorder.sample(cell, "depth_one", 4, 50.0, usable=False, reason="compiled")
    )
    segment.append("sample.recorded", recorder.sample(cell, "depth_one", 0, 70.0, role="warmup"))
    recorder.complete(segment, cell)
    median = statistics.median(values)
    assert rows(
        warehouse, "SELECT candidate, median_ms, n, spread_pct, min_ms, max_ms FROM candidate_medians"
    ) == [("depth_one", median, 4, (0.7 - 0.1) / median * 100, 0.1, 0.7)]


@settings(max_examples=25)
@given(st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=12))
def test_usable_medians_is_statistics_median(values):
    with duckdb.connect() as connection:
        create_rules(connection)
        connection.execute(
            "CREATE TABLE t AS SELECT 'c' AS campaign, 's' AS segment, 'sample.recorded' AS type, "
            "{cell: 'x', candidate: 'y', role: 'measured', usable: true, ms: unnest($values::DOUBLE[])} "
            "AS sample",
            {"values": values},
        )
        (row,) = connection.execute("SELECT median_ms, n, spread_pct FROM usable_medians('t')").fetchall()
    median = statistics.median(values)
    assert row == (median, len(values), (max(values) - min(values)) / median * 100)


def test_the_last_good_attempt_counts_alone(measured, warehouse):
    cell = measured.cells[0]
    measured.attempt("demo", cell, {"no_sharing": (7.0, 7.5, 8.0)}, number=2, source="s2")
    measured.fail(measured.begin("demo", cell, 3), cell)
    where = f"WHERE cell = '{cell.key}'"
    assert rows(warehouse, f"SELECT number, state, counts FROM attempts {where}") == [
        (1, "completed", False),
        (2, "completed", True),
        (3, "failed", False),
    ]
    assert rows(warehouse, f"SELECT candidate, median_ms FROM candidate_medians {where}") == [
        ("no_sharing", 7.5)
    ]


def test_a_failed_attempts_samples_count_nowhere_but_stay(recorder, warehouse):
    cell = recorder.cells[0]
    segment = recorder.begin("demo", cell)
    segment.append("sample.recorded", recorder.sample(cell, "depth_one", 0, 5.0))
    recorder.fail(segment, cell, "out_of_memory")
    assert rows(warehouse, "SELECT * FROM candidate_medians") == []
    assert rows(warehouse, "SELECT candidate, median_ms FROM attempt_medians") == [("depth_one", 5.0)]
    assert rows(
        warehouse,
        "SELECT number, kind, message, exit_codes, last_collectives, log_tail, samples, resolved "
        "FROM failures",
    ) == [(1, "out_of_memory", "too slow", [0, None], None, "the end", 0, False)]
    recorder.attempt("demo", cell, recorder.times, number=2)
    assert rows(warehouse, "SELECT resolved FROM failures") == [(True,)]


def test_the_automatic_choice_has_medians_of_its_own(recorder, warehouse):
    recorder.attempt("demo", recorder.cells[0], recorder.times, automatic=(3.0, 5.0))
    labels = {row[0] for row in rows(warehouse, "SELECT candidate FROM candidate_medians")}
    assert labels == set(recorder.labels)
    assert rows(warehouse, "SELECT candidate, median_ms, n FROM automatic_medians") == [("automatic", 4.0, 2)]
    assert rows(warehouse, "SELECT candidate, labels FROM candidates WHERE automatic") == [
        ("automatic", ["full_sharing", "full_sharing_too"])
    ]
    assert rows(warehouse, "SELECT matches, version, best, regret_pct FROM automatic_medians") == [
        (None, 1, "full_sharing", pytest.approx(220.0))
    ]


def test_an_automatic_choice_that_is_a_candidate_has_that_candidates_samples(recorder, warehouse):
    recorder.attempt("demo", recorder.cells[0], {**recorder.times, "depth_one": (1.0, 1.0, 1.0)})
    assert rows(
        warehouse, "SELECT candidate, median_ms, n, matches, best, regret_pct FROM automatic_medians"
    ) == [("automatic", 1.25, 3, "full_sharing", "depth_one", 25.0)]
    # A later attempt stands for the cell, and its choice with it.
    recorder.attempt("demo", recorder.cells[0], recorder.times, number=2)
    assert rows(warehouse, "SELECT best, regret_pct FROM automatic_medians") == [("full_sharing", 0.0)]


def imported(recorder, cell):
    aggregates = [
        {
            "label": label,
            "features": recorder.features(50),
            "median_ms": 1171.2823486328125,
            "n": 8,
            "spread_pct": 0.56,
        }
        for label in ("b", "a")
    ]
    return {
        "cell": cell.key,
        "identity": cell.plain(),
        "facts": recorder.facts(cell),
        "fingerprint": recorder.fingerprint(),
        "candidates": aggregates,
    }


def test_an_imported_cell_contributes_its_aggregates(recorder, warehouse):
    cell = recorder.cells[0]
    recorder.open_campaign(recorder.manifest())
    recorder.one("demo", "import", "cell.imported", imported(recorder, cell))
    assert rows(warehouse, "SELECT candidate, source, median_ms, n, spread_pct FROM candidate_medians") == [
        ("a", "imported", 1171.2823486328125, 8, 0.56),
        ("b", "imported", 1171.2823486328125, 8, 0.56),
    ]
    assert rows(warehouse, "SELECT state, candidates, usable_samples FROM cells WHERE position = 1") == [
        ("imported", 2, 16)
    ]


def test_what_was_measured_after_an_import_counts(recorder, warehouse):
    cell = recorder.cells[0]
    recorder.one("demo", "import", "cell.imported", imported(recorder, cell))
    recorder.attempt("demo", cell, {"no_sharing": (2.0,)})
    assert rows(warehouse, "SELECT candidate, source FROM candidate_medians") == [("no_sharing", "measured")]


def test_cells_say_where_each_stands(recorder, warehouse):
    names = ("done", "broken", "out", "at-work", "never", "held", "foreign")
    cells = {name: recorder.identity(name, tp=2 if name == "held" else 1) for name in names}
    recorder.open_campaign(recorder.manifest(cells=[cells[name] for name in names[:-1]]))
    recorder.attempt("demo", cells["done"], recorder.times)
    recorder.fail(recorder.begin("demo", cells["broken"]), cells["broken"])
    recorder.attempt("demo", cells["out"], recorder.times)
    recorder.one(
        "demo",
        "exclusion",
        "cell.excluded",
        {"cell": cells["out"].key, "reason": "noisy host", "reference": "", "by": "me"},
    )
    recorder.attempt("demo", cells["foreign"], recorder.times)
    open_segment = recorder.begin("demo", cells["at-work"])
    assert rows(
        warehouse,
        "SELECT workload, position, state, held_out, attempts, failed_attempts, candidates, usable_samples, "
        "exclusion_reason FROM cells",
    ) == [
        ("done", 1, "completed", False, 1, 0, 3, 10, None),
        ("broken", 2, "failed", False, 1, 1, 0, 0, None),
        ("out", 3, "excluded", False, 1, 0, 3, 10, "noisy host"),
        ("at-work", 4, "running", False, 0, 0, 0, 0, None),
        ("never", 5, "missing", False, 0, 0, 0, 0, None),
        ("held", 6, "missing", True, 0, 0, 0, 0, None),
        ("foreign", None, "completed", False, 1, 0, 3, 10, None),
    ]
    open_segment.close()


def test_pairs_stand_once_and_say_which_is_faster(measured, warehouse):
    where = f"WHERE cell = '{measured.cells[0].key}'"
    assert rows(
        warehouse, f"SELECT candidate_a, candidate_b, faster, separation_pct, separated FROM pairs {where}"
    ) == [
        ("depth_one", "full_sharing", "full_sharing", pytest.approx(220.0), True),
        ("depth_one", "no_sharing", "no_sharing", 60.0, True),
        ("full_sharing", "no_sharing", "full_sharing", 100.0, True),
    ]


def test_the_last_word_on_an_exclusion_holds(recorder, warehouse):
    for reason in ("first", "second"):
        recorder.one("demo", "exclusion", "cell.excluded", {"cell": "x", "reason": reason, "by": "me"})
    assert rows(warehouse, "SELECT cell, reason, reference FROM exclusions") == [("x", "second", "")]


def test_a_campaign_keeps_what_was_registered_first(recorder, warehouse):
    recorder.open_campaign(recorder.manifest())
    recorder.open_campaign(recorder.manifest(cells=recorder.cells[:1]))
    assert rows(warehouse, "SELECT expected_cells, held_out_cells, separation_pct FROM campaigns") == [
        (3, 1, 3.0)
    ]


def test_events_hold_every_line(measured, warehouse):
    found = warehouse.query(
        "SELECT segment, seq, id, digest, data FROM events ORDER BY segment, seq"
    ).records()
    lines = [
        (event.subject["segment"], event.seq, event.id, event.digest)
        for place in measured.log.segments()
        for event in read_segment(place.path)
    ]
    assert [(row["segment"], row["seq"], row["id"], row["digest"]) for row in found] == sorted(lines)
    assert all(row["data"] for row in found)


def test_registry_events_have_views(recorder, warehouse):
    domain = {
        "device_classes": [{"capability": "cpu:x", "memory": "below-70g"}],
        "dtypes": ["float32"],
        "geometries": [recorder.fingerprint()["geometry"]],
        "shapes": [{"tp": 1}],
    }
    table = {"table_id": "t", "table_digest": "d", "certificate": "c", "domain": domain}
    registered = {"model": "layout-cost", "bundle_digest": "b"}
    recorder.one("demo", "registration", "version.registered", {**registered, "version": 1, "tables": []})
    recorder.one(
        "demo", "registration", "version.registered", {**registered, "version": 2, "tables": [table]}
    )
    move = {
        "model": "layout-cost",
        "alias": "champion",
        "version": 2,
        "previous": None,
        "by": "me",
        "reason": "better",
    }
    recorder.one("demo", "promotion", "alias.moved", move)
    for verdict in ("hold", "approve"):
        review = {
            "certificate": "c",
            "aspect": "adoption",
            "verdict": verdict,
            "by": "me",
            "reason": "why not",
        }
        recorder.one("demo", "review", "review.recorded", review)
    issued = {"digest": "c", "fit": "f", "table_digest": "d", "evidence_root": "r", "table_id": "t"}
    recorder.one("demo", "certificate", "certificate.issued", issued)
    recorder.one("demo", "certificate", "certificate.refused", {"fit": "f", "reasons": ["late", "thin"]})
    assert rows(warehouse, "SELECT version, table_id, certificate FROM versions") == [
        (1, None, None),
        (2, "t", "c"),
    ]
    assert rows(warehouse, "SELECT alias, version, previous, forced, origin FROM promotions") == [
        ("champion", 2, None, False, "promote")
    ]
    assert rows(warehouse, "SELECT verdict, stands FROM reviews") == [("hold", False), ("approve", True)]
    assert rows(warehouse, "SELECT issued, certificate, reasons FROM certificates") == [
        (True, "c", None),
        (False, None, ["late", "thin"]),
    ]


def test_later_units_have_views(recorder, warehouse):
    observed = {
        "signature": {"model": "m", "topology": "tp1", "grad": True, "outputs": "loss"},
        "packed_tokens": 5,
        "logical_tokens": 10,
        "outputs": 0,
        "priced_tokens": 5,
        "formula": 2,
        "predicted_peak_bytes": 2**53 - 1,
        "observed_peak_bytes": 2**52,
        "retained_bytes": 0,
    }
    recorder.one("demo", "memory_observation", "memory.observed", observed)
    recorder.one(
        "demo", "selection", "selection.observed", {"candidate": "depth_one", "decisions": [1, 2], "ms": 1.5}
    )
    assert rows(warehouse, "SELECT packed_tokens, observed_peak_bytes FROM memory_observations") == [
        (5, 2**52)
    ]
    assert rows(warehouse, "SELECT candidate, decisions, ms FROM selections") == [("depth_one", [1, 2], 1.5)]


def naive_attempts(log):
    """What the attempts' own lines say, line by line."""
    for place in log.segments():
        said = {event.type: event.data for event in read_segment(place.path)}
        if "cell.started" not in said:
            continue
        described, end = said["cell.described"], said.get("cell.completed", {})
        failure = said.get("cell.failed", {}).get("kind")
        state = "failed" if failure else "completed" if end else "interrupted"
        listed = [*described["candidates"], {**described["automatic"], "label": "automatic"}]
        layouts = sorted(f"{item['label']} {item['features']['packed_tokens']}" for item in listed)
        number, layers = said["cell.started"]["number"], described["facts"]["layers"]
        yield place.segment, number, state, failure, end.get("wall_s"), layers, layouts


@pytest.mark.parametrize("more", [0, 6])
def test_attempts_and_candidates_say_what_the_lines_say(measured, warehouse, more):
    """From the tables of loose segments, and from parts."""
    cell = measured.cells[0]
    measured.fail(measured.begin("demo", cell, 2), cell, "killed")
    with measured.begin("demo", cell, 3, candidates=[measured.candidate("depth_one", 7)]):
        pass
    for number in range(more):
        measured.attempt("demo", cell, measured.times, number=4 + number)
    assert warehouse.refresh().parts == bool(more)
    assert rows(
        warehouse,
        "SELECT attempts.attempt, number, state, failure, wall_s, facts.layers, "
        "list(candidate || ' ' || packed_tokens ORDER BY candidate) "
        "FROM attempts JOIN candidates USING (attempt) GROUP BY ALL ORDER BY 1",
    ) == list(naive_attempts(measured.log))
