"""What a run says of an attempt under an adaptive protocol."""

from schemas import AdaptiveEnd, CellCompleted
from tracker.log import Log, read_segment
from tracker.mirror import project_segment


def test_an_attempt_that_ended_early_shows_why_and_what_it_saved(tmp_path, evidence):
    log, cell = Log(tmp_path), evidence.identity("grpo-0")
    with log.open_segment("first", "attempt", {"cell": cell.key, "attempt": "1"}) as segment:
        evidence.begin_attempt(segment, cell)
        evidence.record_samples(segment, cell, 3)
        end = AdaptiveEnd(reason="separated", rounds=3, saved=9, fastest="full_sharing")
        done = CellCompleted(cell=cell.key, usable={}, rank_reports=({},), wall_s=1.0, end=end)
        segment.append("cell.completed", done.plain())
        place = segment.seal()
    plan = project_segment(read_segment(place.path), place.path)
    assert plan.params["stopped"] == "separated"
    last = {metric.key: metric.value for metric in plan.metrics}
    assert (last["rounds"], last["rounds_saved"]) == (3, 9)


def test_a_fixed_protocol_says_nothing_of_it(tmp_path, evidence):
    place = evidence.completed_attempt(Log(tmp_path))
    plan = project_segment(read_segment(place.path), place.path)
    assert "stopped" not in plan.params
    assert "rounds_saved" not in {metric.key for metric in plan.metrics}
