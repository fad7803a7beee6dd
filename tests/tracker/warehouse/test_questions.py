import pytest

from tracker.warehouse import worked_questions

QUESTIONS = {question.name: question for question in worked_questions()}


def answer(warehouse, name):
    return warehouse.query(QUESTIONS[name].sql).records()


def test_there_are_ten_and_each_says_what_it_asks():
    assert len(QUESTIONS) == 10
    assert all(question.text.endswith("?") for question in QUESTIONS.values())


@pytest.mark.parametrize("name", sorted(QUESTIONS))
def test_every_question_has_an_answer_in_an_empty_ledger(warehouse, name):
    assert answer(warehouse, name) == []


def test_winners_and_wins(measured, warehouse):
    (row, *_) = answer(warehouse, "winners")
    assert (row["winner"], row["median_ms"], row["lead_pct"]) == ("full_sharing", 1.25, 100.0)
    assert [
        (row["tp"], row["candidate"], row["cells_won"]) for row in answer(warehouse, "wins_by_policy")
    ] == [
        (1, "full_sharing", 2),
        (2, "full_sharing", 1),
    ]


def test_failures_and_gaps(measured, warehouse):
    measured.fail(measured.begin("demo", measured.cells[0], 2), measured.cells[0], "killed")
    plan = measured.manifest("other")
    measured.open_campaign(plan)
    measured.fail(measured.begin("other", measured.cells[0]), measured.cells[0])
    assert [(row["campaign"], row["kind"], row["resolved"]) for row in answer(warehouse, "failures")] == [
        ("demo", "killed", False),
        ("other", "timeout", False),
    ]
    assert [(row["campaign"], row["state"], row["cells"]) for row in answer(warehouse, "gaps")] == [
        ("other", "failed", 1),
        ("other", "missing", 2),
    ]


def test_noise_and_unusable(measured, warehouse):
    cell = measured.cells[0]
    segment = measured.begin("demo", cell, 2)
    for label in measured.labels:
        segment.append("sample.recorded", measured.sample(cell, label, 0, 5.0))
    segment.append(
        "sample.recorded", measured.sample(cell, "depth_one", 1, 9.0, usable=False, reason="compiled")
    )
    measured.complete(segment, cell)
    rows = answer(warehouse, "noise")
    assert [row["spread_pct"] for row in rows] == [150.0, 150.0, 0.0]
    assert (rows[-1]["ties"], rows[-1]["pairs"]) == (3, 3)
    assert answer(warehouse, "unusable") == [
        {"campaign": "demo", "role": "measured", "reason": "compiled", "samples": 1}
    ]


def test_one_more_level(recorder, warehouse):
    cell = recorder.cells[0]
    candidates = [recorder.candidate(label, 1000 + i) for i, label in enumerate(recorder.labels)]
    for depth, item in enumerate(candidates, 1):
        item["features"]["max_depth"] = depth
    segment = recorder.begin("demo", cell, candidates=candidates)
    for label, ms in zip(recorder.labels, (10.0, 11.0, 13.0), strict=True):
        segment.append("sample.recorded", recorder.sample(cell, label, 0, ms))
    recorder.complete(segment, cell)
    (row,) = answer(warehouse, "one_more_level")
    assert (row["uses_gdn"], row["pairs"], row["level_ms"]) == (True, 2, 1.5)


def test_automatic(recorder, warehouse):
    recorder.attempt("demo", recorder.cells[0], recorder.times, automatic=(2.5, 2.5))
    (row,) = answer(warehouse, "automatic")
    assert (row["chosen"], row["best"], row["regret_pct"]) == ("a layout of its own", "full_sharing", 100.0)
    recorder.attempt("demo", recorder.cells[0], recorder.times, number=2)
    (row,) = answer(warehouse, "automatic")
    assert (row["chosen"], row["version"], row["regret_pct"]) == ("full_sharing", 1, 0.0)


def test_drift(recorder, warehouse):
    cell = recorder.cells[0]
    recorder.attempt("a", cell, {"no_sharing": (1.0, 1.0, 1.1), "depth_one": (1.0, 2.0)})
    recorder.attempt("b", cell, {"no_sharing": (2.0, 2.0, 2.1), "depth_one": (1.0, 2.5)})
    (row,) = answer(warehouse, "drift")
    assert (row["before"], row["after"], row["candidate"], row["moved_pct"]) == (
        "a",
        "b",
        "no_sharing",
        100.0,
    )


def test_supported_versions(measured, warehouse, registered_table):
    rows = answer(warehouse, "supported_versions")
    assert [(row["cell"], row["version"], row["part"]) for row in rows] == [
        (measured.cells[0].key, 2, "training"),
        (measured.cells[2].key, 2, "holdout"),
    ]
