from pathlib import Path

import pytest

from schemas import InvalidInputError
from tracker.log import Log, read_segment
from tracker.mirror import RunPlan, project_segment
from tracker.mirror._run_plan import safe_key, shortened


@pytest.fixture
def plans(tmp_path: Path, evidence) -> list[RunPlan]:
    log = evidence.small_ledger(tmp_path)
    return [project_segment(read_segment(place.path), place.path) for place in log.segments()]


def test_statuses_and_names_are_true_to_the_facts(plans: list[RunPlan]):
    assert [(plan.name, plan.status) for plan in plans] == [
        ("campaign opened", "FINISHED"),
        ("grpo-0|hybrid|L4|tp1|cp1 · attempt 1 · completed", "FINISHED"),
        ("killed · grpo-1|hybrid|L4|tp1|cp1 · attempt 2", "FAILED"),
    ]


def test_an_interrupted_attempt_is_killed_not_failed(tmp_path: Path, evidence):
    log = Log(tmp_path)
    place = evidence.failed_attempt(log, kind="interrupted")
    assert project_segment(read_segment(place.path), place.path).status == "KILLED"


def test_an_attempt_shows_medians_regret_and_every_round(plans: list[RunPlan]):
    latest = {(m.key, m.step): m.value for m in plans[1].metrics}
    assert latest["median_ms/no_sharing", 0] == 13.0
    assert latest["regret_pct/no_sharing", 0] == pytest.approx(100 * 2 / 11)
    assert latest["spread_pct/full_sharing", 0] == pytest.approx(100 * 2 / 11)
    assert [latest["by_round_ms/full_sharing", step] for step in range(3)] == [10.0, 11.0, 12.0]


def test_times_are_those_of_the_events(tmp_path: Path, plans: list[RunPlan]):
    events = read_segment(plans[1].segment_file)
    assert f"{plans[1].start % 1000:03d}" == events[0].time[20:23]
    assert f"{plans[1].end % 1000:03d}" == events[-1].time[20:23]


def test_the_failing_log_is_an_artifact_and_evidence_is_escaped(plans: list[RunPlan]):
    assert plans[2].texts["log-tail.txt"].startswith("line\n")
    assert "<b>" not in plans[2].tags["mlflow.note.content"]


def test_the_same_segment_gives_the_same_digest_anywhere(tmp_path: Path, evidence, plans: list[RunPlan]):
    copy = tmp_path / "elsewhere" / "log" / "first" / plans[1].segment_file.name
    copy.parent.mkdir(parents=True)
    copy.write_bytes(plans[1].segment_file.read_bytes())
    assert project_segment(read_segment(copy), copy).digest == plans[1].digest


def test_a_long_value_stays_whole_in_an_artifact():
    texts: dict[str, str] = {}
    value = shortened("reason", "r" * 501, 500, texts)
    assert texts == {"long/reason.txt": "r" * 501}
    assert len(value) < 500 and "501 characters" in value and "long/reason.txt" in value
    assert shortened("reason", "r" * 500, 500, texts) == "r" * 500


def test_keys_that_had_to_change_stay_apart():
    assert safe_key("no_sharing") == "no_sharing"
    assert safe_key("a/b") != safe_key("a|b")
    assert len(safe_key("x" * 1000)) <= 250 and safe_key("..") != ".."


def test_a_payload_that_is_not_what_its_type_says_is_refused(tmp_path: Path):
    log = Log(tmp_path)
    with log.open_segment("c", "exclusion") as segment:
        segment.append("cell.excluded", {"cell": "x"})
        place = segment.seal()
    with pytest.raises(InvalidInputError, match=r"cell\.excluded"):
        project_segment(read_segment(place.path), place.path)


def test_unit_without_words_of_its_own_is_still_shown(tmp_path: Path):
    log = Log(tmp_path)
    with log.open_segment("c", "unknown") as segment:
        segment.append("something.else", {"x": 1})
        place = segment.seal()
    plan = project_segment(read_segment(place.path), place.path)
    assert (plan.name, plan.status, plan.metrics) == ("unknown", "FINISHED", ())


def test_what_a_trainer_told_is_shown_step_by_step_with_its_losses(tmp_path: Path):
    log = Log(tmp_path)
    with log.open_segment("production", "selection") as segment:
        for ms in (10.0, 12.0):
            told = {"candidate": "full_sharing", "ms": ms, "predicted_us": 5000.0}
            segment.append("selection.observed", told)
        closed = {"observed": 5, "recorded": 2, "dropped": 3, "unwritten": 0, "refused": 0}
        segment.append("selection.closed", closed)
        place = segment.seal()
    plan = project_segment(read_segment(place.path), place.path)
    assert plan.name == "production · 2 steps"
    assert "3 observations were lost" in plan.tags["mlflow.note.content"]
    found = {(each.key, each.step): each.value for each in plan.metrics}
    assert found == {
        ("ms/full_sharing", 0): 10.0,
        ("ms/full_sharing", 1): 12.0,
        ("seen_over_predicted/full_sharing", 0): 2.0,
        ("seen_over_predicted/full_sharing", 1): 2.4,
    }


def test_a_failed_attempt_says_what_ended_it_and_what_to_do(plans: list[RunPlan]):
    note = plans[2].tags["mlflow.note.content"]
    assert "log-tail.txt" in note and "campaign resume" in note
    assert "fastest" not in plans[2].params
    assert plans[1].params["fastest"] == "full_sharing"
