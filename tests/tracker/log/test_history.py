"""Any history of opening, appending, sealing, dying and recovering, against a model that fits in the head."""

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from tracker.log import (
    Disk,
    Log,
    campaign_checkpoint,
    read_open_segment,
    read_segment,
    recover,
    verify_links,
    verify_log,
)


class HastyDisk(Disk):
    def sync(self, handle, path):
        pass

    def sync_folder(self, path):
        pass


class History(RuleBasedStateMachine):
    """The model: what each segment's events must be, whether it is live, dead or sealed."""

    writers = Bundle("writers")

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.logs = {name: Log(self.folder / name, disk=HastyDisk()) for name in ("mine", "theirs")}
        self.live, self.dead, self.sealed = {}, {}, {}

    def teardown(self):
        for writer in self.live:
            writer.close()
        shutil.rmtree(self.folder)

    @rule(
        target=writers, unit=st.sampled_from(["attempt", "fit"]), ledger=st.sampled_from(["mine", "theirs"])
    )
    def open(self, unit, ledger):
        writer = self.logs[ledger].open_segment("quick", unit, {"cell": "a"})
        writer.model = (ledger, unit)
        self.live[writer] = list(read_open_segment(writer.path))
        return writer

    @rule(writer=writers, number=st.integers(), durable=st.booleans())
    def append(self, writer, number, durable):
        if writer in self.live:
            event = writer.append("sample.recorded", {"n": number}, durable=durable)
            self.live[writer].append(event)

    @rule(writer=writers, count=st.integers(0, 5))
    def append_many(self, writer, count):
        if writer in self.live:
            writer.append_many("sample.recorded", [{"n": number} for number in range(count)])
            self.live[writer] = list(read_open_segment(writer.path))

    @rule(writer=writers)
    def complete(self, writer):
        if writer in self.live:
            self.live[writer].append(writer.append("cell.completed", {"cell": "a"}))

    @rule(writer=consumes(writers))
    def seal(self, writer):
        if writer in self.live:
            writer.seal()
            self.sealed[writer] = (self.live.pop(writer), ["segment.sealed"])

    @rule(writer=consumes(writers), torn=st.binary(max_size=30).filter(lambda data: b"\n" not in data))
    def die(self, writer, torn):
        """The process is gone, its last write cut somewhere."""
        if writer in self.live:
            os.write(writer._handle, torn)
            writer.close()
            self.dead[writer] = (self.live.pop(writer), torn)

    @rule(ledger=st.sampled_from(["mine", "theirs"]))
    def recover(self, ledger):
        done = recover(self.logs[ledger])
        here = [writer for writer in self.dead if writer.model[0] == ledger]
        assert {item.path.name for item in done.sealed} == {f"{writer.segment}.jsonl" for writer in here}
        assert {path for path in done.live} == {w.path for w in self.live if w.model[0] == ledger}
        for writer in here:
            events, torn = self.dead.pop(writer)
            ended = any(event.type == "cell.completed" for event in events)
            verdict = "segment.interrupted" if writer.model[1] != "attempt" else "cell.failed"
            closing = ["segment.cut"] * bool(torn)
            closing += [] if ended and verdict == "cell.failed" else [verdict]
            self.sealed[writer] = (events, [*closing, "segment.sealed"])
        assert recover(self.logs[ledger]).sealed == ()

    @rule()
    def exchange(self):
        mine, theirs = self.logs.values()
        for place in mine.segments():
            theirs.adopt(place.path)
        for place in theirs.segments():
            mine.adopt(place.path)
        if mine.segments():
            assert campaign_checkpoint(mine, "quick") == campaign_checkpoint(theirs, "quick")
        assert verify_links(mine) == verify_links(theirs) == []

    @invariant()
    def every_sealed_segment_holds_what_was_written(self):
        for writer, (events, closing) in self.sealed.items():
            read = read_segment(self.logs[writer.model[0]].find(writer.segment).path)
            assert list(read[: len(events)]) == events
            assert [event.type for event in read[len(events) :]] == closing

    @invariant()
    def nothing_but_dead_writers_is_found_fault_with(self):
        findings = [finding for log in self.logs.values() for finding in verify_log(log)]
        assert {finding.where for finding in findings} == {str(writer.path) for writer in self.dead}


TestHistory = History.TestCase
TestHistory.settings = settings(max_examples=40, stateful_step_count=25)
