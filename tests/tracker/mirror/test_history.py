"""Any history of recording, dying, mirroring, exchanging and losing projections, against a model of sets."""

import importlib.util
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from tracker.log import Disk, Log, recover, verify_log
from tracker.mirror import pull, push, verify_mirror
from tracker.mlflow_store import connect, database_path, embedded_uri
from tracker.warehouse import Warehouse

NAMES = st.sampled_from(["mine", "theirs"])
CAMPAIGNS = st.sampled_from(["first", "second"])
spec = importlib.util.spec_from_file_location("evidence", Path(__file__).parents[1] / "evidence.py")
assert spec is not None and spec.loader is not None
evidence = importlib.util.module_from_spec(spec)
spec.loader.exec_module(evidence)


class HastyDisk(Disk):
    def sync(self, handle, path):
        pass

    def sync_folder(self, path):
        pass


class MirroredHistory(RuleBasedStateMachine):
    """The model: the segments each ledger has sealed, those that lie dead, and those in the common store."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.logs = {name: Log(self.folder / name, disk=HastyDisk()) for name in ("mine", "theirs")}
        self.common = embedded_uri(self.folder / "common")
        self.sealed = {"mine": set(), "theirs": set()}
        self.dead = {"mine": 0, "theirs": 0}
        self.mirrored = set()
        self.number = 0

    def teardown(self):
        shutil.rmtree(self.folder)

    @rule(name=NAMES, campaign=CAMPAIGNS, rounds=st.integers(1, 2))
    def measure(self, name, campaign, rounds):
        self.number += 1
        place = evidence.completed_attempt(self.logs[name], campaign, f"w{self.number}", rounds)
        self.sealed[name].add(place.segment)

    @rule(name=NAMES, campaign=CAMPAIGNS)
    def die(self, name, campaign):
        self.number += 1
        cell = evidence.identity(f"w{self.number}")
        writer = self.logs[name].open_segment(campaign, "attempt", {"cell": cell.key, "attempt": "1"})
        evidence.begin_attempt(writer, cell)
        os.write(writer._handle, b'{"torn')
        writer.close()
        self.dead[name] += 1

    @rule(name=NAMES)
    def recover(self, name):
        done = recover(self.logs[name]).sealed
        assert len(done) == self.dead[name]
        self.dead[name] = 0
        self.sealed[name] |= {item.path.stem for item in done}
        assert recover(self.logs[name]).sealed == ()

    @rule(name=NAMES)
    def push(self, name):
        report = push(self.logs[name], self.common)
        assert set(report.created) == self.sealed[name] - self.mirrored
        assert (report.failed, report.completed) == ((), ())
        self.mirrored |= self.sealed[name]
        assert push(self.logs[name], self.common).created == ()

    @rule(name=NAMES)
    def push_breaks_off(self, name):
        """A run begun and left, as a killed mirror leaves it; the next push completes it."""
        waiting = [p for p in self.logs[name].segments() if p.segment not in self.mirrored]
        if not waiting:
            return
        tracking = connect(self.common)
        experiment = tracking.ensure_experiment(waiting[0].campaign, {"ledger.campaign": waiting[0].campaign})
        tags = {"ledger.segment": waiting[0].segment, "ledger.projection": "left"}
        tracking.create_run(experiment, "left", 1, tags)

    @rule(name=NAMES)
    def pull(self, name):
        report = pull(self.logs[name], self.common)
        assert set(report.adopted) == self.mirrored - self.sealed[name] and report.failed == ()
        self.sealed[name] |= self.mirrored

    @rule(name=NAMES)
    def rebuild(self, name):
        """Projections are lost and made again: the same rows, the same runs."""
        store = self.logs[name].root
        for folder in ("warehouse", "mlflow"):
            shutil.rmtree(store / folder, ignore_errors=True)
        report = push(self.logs[name])
        assert set(report.created) == self.sealed[name] and report.failed == ()
        assert verify_mirror(self.logs[name]) == []
        if self.sealed[name]:
            rows = Warehouse(store).query("SELECT DISTINCT segment FROM events").records()
            assert {row["segment"] for row in rows} >= self.sealed[name]

    @precondition(lambda self: self.mirrored)
    @rule()
    def the_store_is_lost(self):
        """Each ledger pushes again what it has: nothing was in the store alone."""
        union = self.sealed["mine"] | self.sealed["theirs"]
        shutil.rmtree(self.folder / "common")
        self.mirrored = set()
        for name in self.logs:
            self.push(name)
        assert self.mirrored == union

    @precondition(lambda self: self.mirrored)
    @rule(name=NAMES)
    def compare(self, name):
        self.push(name)
        self.pull(name)
        assert verify_mirror(self.logs[name], self.common) == []
        with sqlite3.connect(database_path(self.folder / "common")) as connection:
            query = "SELECT count(DISTINCT value) FROM tags WHERE key = 'ledger.segment'"
            assert connection.execute(query).fetchone() == (len(self.mirrored),)

    @rule()
    def the_logs_are_whole(self):
        for name, log in self.logs.items():
            assert {place.segment for place in log.segments()} == self.sealed[name]
            assert len(verify_log(log)) == self.dead[name]


TestMirroredHistory = pytest.mark.slow(seconds=90)(MirroredHistory.TestCase)
TestMirroredHistory.settings = settings(
    max_examples=6, stateful_step_count=12, suppress_health_check=list(HealthCheck)
)
