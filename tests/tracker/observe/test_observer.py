import os
import signal
import threading
import time

import pytest

from schemas import InvalidInputError, SelectionObserved, SelectionsClosed
from tracker.log import Disk, Log, read_segment, recover
from tracker.log._disk import unavailable
from tracker.observe import ObserverCounts, SelectionObserver
from tracker.observe._rows import selection_row
from tracker.observe._segments import SelectionSegments

MADE = """
import json, os, signal, sys, time
sys.path.insert(0, "tests/tracker/observe")
from planner import Plan, ScoringFacts, build_prefix_tree, select_layout
from planner._version import Scoring
from tracker.observe import SelectionObserver
facts = ScoringFacts(cp_size=1, tp_size=1, layers=4)
tree = build_prefix_tree([[1, 2, 3], [1, 2, 4]])
table = {"token_per_rank": 1000}
plan = Plan(tree, select_layout(tree, facts, table), Scoring("t", table, facts, 2, "d"))
"""
HEAVY = ("mlflow", "duckdb", "torch", "pyarrow", "pandas", "scipy", "matplotlib")


def told(store) -> tuple[list[SelectionObserved], list[SelectionsClosed]]:
    """What the log's sealed segments hold: observations and closing events."""
    events = [event for place in Log(store).segments("production") for event in read_segment(place.path)]
    seen = [e.data for e in events if e.type == "selection.observed"]
    closed = [e.data for e in events if e.type == "selection.closed"]
    return (
        [SelectionObserved.parse(data, where="log") for data in seen],
        [SelectionsClosed.parse(data, where="log") for data in closed],
    )


def until(condition, patience_s: float = 120.0) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


class Full(Disk):
    """A disk that takes no bytes while `full` is set."""

    full = False

    def write(self, handle, data, path):
        if self.full:
            raise unavailable(path, "write", OSError(28, "No space left on device"))
        super().write(handle, data, path)


class Hanging(Disk):
    """A disk whose fsync does not come back while `held` is set."""

    def __init__(self):
        self.go = threading.Event()

    def sync(self, handle, path):
        self.go.wait()
        super().sync(handle, path)


def over(store, disk: Disk, kind=SelectionSegments, **more) -> SelectionSegments:
    return kind(store, "production", log=Log(store, disk=disk, sync_events=1), **more)


def test_what_is_told_is_in_the_log_in_order(tmp_path, plan):
    with SelectionObserver(tmp_path) as observer:
        for step in range(5):
            observer.observe(plan, 10.0 + step)
    seen, closed = told(tmp_path)
    assert [each.ms for each in seen] == [10, 11, 12, 13, 14]
    assert closed == [SelectionsClosed(observed=5, recorded=5, dropped=0, unwritten=0, refused=0)]
    assert observer.counts == ObserverCounts(recorded=5, dropped=0, unwritten=0, refused=0, waiting=0)
    observer.close()
    assert len(told(tmp_path)[0]) == 5


def test_sealed_segments_can_be_read_while_training_goes_on(tmp_path, plan):
    segments = SelectionSegments(tmp_path, "production", roll_events=3)
    with SelectionObserver(tmp_path, flush_s=0.01, segments=segments) as observer:
        for step in range(3):
            observer.observe(plan, float(step))
        until(lambda: len(told(tmp_path)[0]) == 3)
        observer.observe(plan, 3.0)
    seen, closed = told(tmp_path)
    assert [each.ms for each in seen] == [0, 1, 2, 3]
    assert sum(each.recorded for each in closed) == 4
    assert len(Log(tmp_path).segments("production")) >= 2


def test_a_full_queue_drops_and_the_closing_event_says_how_many(tmp_path, plan):
    disk = Hanging()
    observer = SelectionObserver(tmp_path, capacity=4, flush_s=0.01, segments=over(tmp_path, disk))
    observer.observe(plan, 0.0)
    until(lambda: not observer.counts.waiting)
    for step in range(1, 11):
        observer.observe(plan, float(step))
    assert observer.counts.dropped == 6
    disk.go.set()
    observer.close()
    seen, (closed,) = told(tmp_path)
    assert [each.ms for each in seen] == [0, 1, 2, 3, 4]
    assert (closed.observed, closed.recorded, closed.dropped) == (11, 5, 6)


def test_a_full_disk_never_reaches_the_trainer_and_later_segments_tell_the_loss(tmp_path, plan, monkeypatch):
    monkeypatch.setattr("tracker.observe._segments.FIRST_RETRY_S", 0.01)
    disk = Full()
    observer = SelectionObserver(tmp_path, flush_s=0.01, segments=over(tmp_path, disk))
    observer.observe(plan, 1.0)
    until(lambda: observer.counts.recorded == 1)
    disk.full = True
    observer.observe(plan, 2.0)
    until(lambda: observer.counts.unwritten == 1)
    assert "No space left" in str(observer.trouble)
    disk.full = False
    observer.observe(plan, 3.0)
    until(lambda: observer.counts.recorded == 2)
    assert observer.trouble is None
    observer.close()
    recover(Log(tmp_path))
    seen, (closed,) = told(tmp_path)
    assert [each.ms for each in seen] == [1, 3]
    assert (closed.observed, closed.recorded, closed.unwritten) == (3, 2, 1)


def test_whoever_sees_a_count_sees_the_trouble_that_goes_with_it(tmp_path, plan):
    class Watched(SelectionSegments):
        def _count(self, **more):
            super()._count(**more)
            states.append((self.totals.recorded, self.totals.unwritten, self.trouble is not None))

    states = []
    disk = Full()
    segments = over(tmp_path, disk, kind=Watched)
    row = selection_row(time.time_ns(), plan, 1.0, None, None, model="layout-cost")
    for disk.full in (False, True, False):
        segments.write([row], refused=0, dropped=0)
    assert list(dict.fromkeys(states)) == [(0, 0, False), (1, 0, False), (1, 1, True), (2, 1, False)]


def test_a_disk_that_hangs_holds_up_neither_the_step_nor_the_exit(tmp_path, plan):
    disk = Hanging()
    observer = SelectionObserver(tmp_path, flush_s=0.01, segments=over(tmp_path, disk))
    observer.observe(plan, 1.0)
    until(lambda: not observer.counts.waiting)
    observer.observe(plan, 2.0)
    observer.close(timeout_s=0.05)
    assert observer._thread.is_alive()
    disk.go.set()
    observer._thread.join()
    assert [each.ms for each in told(tmp_path)[0]] == [1, 2]


def test_a_folder_that_cannot_be_made_raises_nothing(tmp_path, plan):
    (tmp_path / "file").write_text("in the way")
    with SelectionObserver(tmp_path / "file", flush_s=0.01) as observer:
        observer.observe(plan, 1.0)
        until(lambda: observer.counts.unwritten == 1)
    assert observer.trouble


@pytest.mark.parametrize("ms", [float("nan"), float("inf"), -1.0, "soon", None])
def test_what_is_no_time_is_counted_and_the_others_are_kept(tmp_path, plan, ms):
    with SelectionObserver(tmp_path) as observer:
        observer.observe(plan, 1.0)
        observer.observe(plan, ms)
        observer.observe(None, 1.0)
        observer.observe(plan, 2.0)
    seen, (closed,) = told(tmp_path)
    assert [each.ms for each in seen] == [1, 2]
    assert (closed.recorded, closed.refused) == (2, 2)


def test_losses_alone_are_told_too(tmp_path, plan):
    with SelectionObserver(tmp_path) as observer:
        observer.observe(plan, float("nan"))
    assert told(tmp_path) == (
        [],
        [SelectionsClosed(observed=1, recorded=0, dropped=0, unwritten=0, refused=1)],
    )


def test_an_observer_that_was_told_nothing_leaves_nothing(tmp_path, plan):
    with SelectionObserver(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_many_threads_may_tell_and_every_call_is_accounted_for(tmp_path, plan):
    observer = SelectionObserver(tmp_path, capacity=8, flush_s=0.001)

    def tell():
        for step in range(200):
            observer.observe(plan, float(step))

    threads = [threading.Thread(target=tell) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    observer.close()
    seen, closed = told(tmp_path)
    assert sum(each.observed for each in closed) == 800
    assert sum(each.recorded for each in closed) == len(seen)


def test_a_wrong_name_or_capacity_is_said_before_training(tmp_path):
    with pytest.raises(InvalidInputError, match="campaign name"):
        SelectionObserver(tmp_path, run="../away")
    with pytest.raises(ValueError, match="capacity"):
        SelectionObserver(tmp_path, capacity=0)


def test_the_import_and_a_whole_run_load_nothing_heavy(tmp_path, trainer):
    program = (
        MADE
        + f"""
with SelectionObserver(sys.argv[1]) as observer:
    observer.observe(plan, 1.0)
print([name for name in {HEAVY} if name in sys.modules])
"""
    )
    assert trainer(program, tmp_path).stdout.strip() == "[]"
    assert len(told(tmp_path)[0]) == 1


def test_a_trainer_that_just_ends_loses_nothing(tmp_path, trainer):
    program = MADE + "observer = SelectionObserver(sys.argv[1], flush_s=60)\nobserver.observe(plan, 1.0)\n"
    ended = trainer(program, tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [each.ms for each in told(tmp_path)[0]] == [1]


def test_a_killed_trainer_loses_what_was_not_written_yet_and_recovery_closes_the_rest(tmp_path, trainer):
    program = (
        MADE
        + """
observer = SelectionObserver(sys.argv[1], flush_s=0.01)
observer.observe(plan, 1.0)
while not observer.counts.recorded:
    time.sleep(0.001)
observer._segments.ready = lambda: False
observer.observe(plan, 2.0)
os.kill(os.getpid(), signal.SIGKILL)
"""
    )
    assert trainer(program, tmp_path).returncode == -signal.SIGKILL
    assert told(tmp_path) == ([], [])
    recover(Log(tmp_path))
    assert [each.ms for each in told(tmp_path)[0]] == [1]


def test_a_forked_child_writes_its_own_segment_and_leaves_the_parents_alone(tmp_path, trainer):
    program = (
        MADE
        + """
observer = SelectionObserver(sys.argv[1], flush_s=0.01)
observer.observe(plan, 1.0)
while not observer.counts.recorded:
    time.sleep(0.001)
child = os.fork()
observer.observe(plan, 2.0 if child else 3.0)
if child:
    assert os.waitpid(child, 0)[1] == 0
observer.close()
print(json.dumps([observer.counts.recorded, os.getpid() if child else 0]))
os._exit(0) if not child else None
"""
    )
    ended = trainer(program, tmp_path)
    assert ended.returncode == 0, ended.stderr
    by_segment = [
        [event.data["ms"] for event in read_segment(place.path) if event.type == "selection.observed"]
        for place in Log(tmp_path).segments("production")
    ]
    assert by_segment == [[1.0, 2.0], [3.0]]


def test_a_parents_segment_is_recoverable_although_a_forked_child_lives(tmp_path, trainer):
    program = (
        MADE
        + """
observer = SelectionObserver(sys.argv[1], flush_s=0.01)
observer.observe(plan, 1.0)
while not observer.counts.recorded:
    time.sleep(0.001)
child = os.fork()
if not child:
    os.close(1), os.close(2)
    time.sleep(30)
print(child, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    )
    ended = trainer(program, tmp_path)
    child = int(ended.stdout)
    try:
        assert [each.unit for each in recover(Log(tmp_path)).sealed] == ["selection"]
    finally:
        os.kill(child, signal.SIGKILL)
