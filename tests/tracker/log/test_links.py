"""A later segment is evidence of an earlier one: who names whom, and what a missing one leaves behind."""

import json
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from schemas import InvalidInputError, canonical_json, digest_bytes
from tracker.log import (
    MOST_LINKS,
    Disk,
    Log,
    LooseEnds,
    SegmentPath,
    read_links,
    read_open_segment,
    read_seal,
    read_segment,
    recover,
    verify_links,
    verify_log,
)

ROOT = Path(__file__).parents[3]


def named(log: Log) -> set[str]:
    """All that some segment of the campaign names: every line of every segment is read."""
    events = [read_segment(place.path)[0] for place in log.segments("quick")]
    events += [read_open_segment(place.path)[0] for place in log.open_segments("quick")]
    return {link["segment"] for event in events for link in event.data.get("follows", ())}


def unnamed(log: Log) -> list[str]:
    """The naive reference: sealed segments that none names, ascending."""
    gone = named(log)
    return [place.segment for place in log.segments("quick") if place.segment not in gone]


def ids(places: Iterable[SegmentPath]) -> set[str]:
    return {place.segment for place in places}


def follows(path: Path) -> list[str]:
    return [link.segment for link in read_links(path)]


def missing(log: Log) -> set[str]:
    findings = verify_links(log)
    assert {finding.what for finding in findings} <= {"missing segment"}
    assert len({finding.expected for finding in findings}) == len(findings)
    return {finding.expected for finding in findings}


def reseal(path: Path) -> None:
    """Give a segment another seal, its lines as they were."""
    *lines, last = path.read_bytes().splitlines()
    seal = {**json.loads(last), "time": "2020-01-01T00:00:00.000000Z"}
    del seal["digest"]
    lines.append(canonical_json({**seal, "digest": digest_bytes(canonical_json(seal))}))
    path.write_bytes(b"\n".join(lines) + b"\n")


def open_with(log: Log, links: object) -> Path:
    """A segment whose first line carries these links, right or wrong."""
    with Log(log.root / "empty").open_segment("quick", "attempt", fields={"follows": links}) as writer:
        pass
    return log.adopt(writer.path.with_name(f"{writer.segment}.jsonl")).path


@pytest.fixture
def places(log, write_attempt):
    return [write_attempt(log, cell=cell) for cell in "abcd"]


def test_a_segment_names_by_their_seals_those_that_were_sealed_before_and_are_not_named(log, write_attempt):
    early, late = log.open_segment("quick", "attempt"), log.open_segment("quick", "attempt")
    first, second = late.seal(), write_attempt(log)
    assert follows(early.path) == follows(first.path) == []
    assert [link.plain() for link in read_links(second.path)] == [
        {"segment": first.segment, "head": first.head}
    ]
    late_seal = early.seal()
    third = write_attempt(Log(log.root))
    assert follows(third.path) == sorted((late_seal.segment, second.segment))
    assert verify_links(log) == []


def test_the_first_segment_is_written_as_before(log, places):
    assert "follows" not in read_segment(places[0].path)[0].data


def test_campaigns_are_apart(log, write_attempt):
    write_attempt(log, campaign="one")
    assert follows(write_attempt(log, campaign="two").path) == []


@pytest.fixture
def unlinked(tmp_path, hasty_disk) -> list[Path]:
    """Segments none of which names another, ascending by id."""
    elsewhere = Log(tmp_path / "elsewhere", disk=hasty_disk)
    writers = [elsewhere.open_segment("quick", "attempt") for _ in range(MOST_LINKS + 3)]
    return sorted(writer.seal().path for writer in writers)


def test_so_many_at_most_and_the_oldest_first(log, write_attempt, unlinked):
    many = [log.adopt(path).segment for path in unlinked]
    first, second = write_attempt(log), write_attempt(log)
    assert follows(first.path) == many[:MOST_LINKS]
    assert follows(second.path) == [*many[MOST_LINKS:], first.segment]


def test_the_first_look_of_a_process_is_at_the_newest_and_later_ones_at_all_that_is_new(log, unlinked):
    oldest, *others = unlinked
    newest = [log.adopt(path).segment for path in others][-2:]
    ends = LooseEnds(log.folder / "quick", first_look=2)
    assert [link.segment for link in ends.look()] == newest
    late = log.adopt(oldest).segment
    assert [link.segment for link in ends.look()] == [late, *newest]


def test_a_missing_segment_is_told_with_the_one_that_names_it_and_nothing_else_suffers(log, places):
    places[1].path.unlink()
    (finding,) = verify_links(log)
    assert finding.plain() == {
        "what": "missing segment",
        "where": f"{places[2].path}:1",
        "expected": places[1].segment,
        "found": "no sealed segment of that id: pull it, or restore its file from a copy",
    }
    assert verify_log(log) == []
    assert recover(log).sealed == ()
    with log.open_segment("quick", "fit") as writer:
        pass
    assert follows(writer.path.with_name(f"{writer.segment}.jsonl")) == [places[3].segment]


def test_an_open_segment_is_evidence_too_and_what_two_name_is_told_once(log, places):
    links = [{"segment": places[1].segment, "head": places[1].head}]
    open_with(log, links)
    with log.open_segment("quick", "attempt"):
        for place in (places[1], places[3]):
            place.path.unlink()
        assert missing(log) == {places[1].segment, places[3].segment}


def test_what_is_named_by_one_that_arrives_before_it_is_not_named_again(log, places, tmp_path, hasty_disk):
    other = Log(tmp_path / "other", disk=hasty_disk)
    ends = LooseEnds(other.folder / "quick")
    for place, loose in ((places[1], [1]), (places[3], [1, 3]), (places[0], [1, 3]), (places[2], [3])):
        other.adopt(place.path)
        assert {link.segment for link in ends.look()} == {places[number].segment for number in loose}


def test_the_last_ones_can_go_unseen_and_the_documentation_says_so(log, places):
    for place in places[2:]:
        place.path.unlink()
        assert missing(log) == ({places[2].segment} if place is places[2] else set())


def test_another_seal_over_the_same_lines_is_found(log, places):
    reseal(places[1].path)
    assert verify_log(log) == []
    (finding,) = verify_links(log)
    assert (finding.what, finding.where) == ("replaced segment", f"{places[2].path}:1")
    assert finding.expected == f"{places[1].segment} with seal {places[1].head}"


@pytest.mark.parametrize(
    "links", ["all", [7], [{"segment": "../x", "head": "0" * 64}], [{"segment": []}], {}]
)
def test_links_that_are_none_are_found_and_name_nothing(log, places, links):
    path = open_with(log, links)
    (finding,) = verify_links(log)
    assert (finding.what, finding.where) == ("unreadable links", f"{path}:1")
    with pytest.raises(InvalidInputError, match=r"line 1: segment\.opened: follows"):
        read_links(path)
    with log.open_segment("quick", "attempt") as writer:
        assert follows(writer.path) == sorted((places[3].segment, path.stem))


@pytest.mark.parametrize("damage", [b"", b"{}\n", b'{"data":[]}\n', b"\xff\n"])
def test_a_damaged_segment_is_not_named_and_is_for_verify_log(log, places, damage):
    places[3].path.write_bytes(damage)
    with log.open_segment("quick", "attempt") as writer:
        assert follows(writer.path) == [places[2].segment], "its own links cannot be read either"
    assert verify_links(log) == []
    assert {finding.what for finding in verify_log(log)} == {"damaged segment"}


@pytest.fixture(scope="module")
def crowded(nursery, tmp_path_factory) -> Log:
    """A ledger that eight processes wrote at once."""
    root = tmp_path_factory.mktemp("crowded")
    nursery.stdin.write(json.dumps(["crowd", str(root), ""]) + "\n")
    nursery.stdin.flush()
    assert json.loads(nursery.stdout.readline()) == [0, ""]
    return Log(root)


def test_each_of_eight_writers_at_once_names_its_last_segment_with_the_next(crowded, tmp_path):
    log = Log(shutil.copytree(crowded.root, tmp_path / "ledger"))
    places = log.segments("quick")
    assert len(places) == 32
    assert verify_log(log) == verify_links(log) == []
    last = unnamed(log)
    opened = sorted((read_segment(place.path)[0] for place in places), key=lambda event: event.time)
    newest = {event.source.pid: event.subject["segment"] for event in opened}
    assert len(newest) == 8
    assert set(last) <= set(newest.values())
    # Each of the others in turn: deleted, found, restored.
    for place in places:
        place.path.rename(tmp_path / "away")
        assert missing(log) == ({place.segment} - set(last))
        (tmp_path / "away").rename(place.path)


def test_a_part_of_a_ledger_misses_what_its_segments_name_until_it_is_there(crowded, hasty_disk, tmp_path):
    part, lacking = Log(tmp_path / "part", disk=hasty_disk), []
    for place in crowded.segments("quick")[::-1]:
        part.adopt(place.path)
        if len(part.segments("quick")) % 5 == 0:
            lacking.append(missing(part))
            assert lacking[-1] == named(part) - ids(part.segments("quick"))
    assert lacking[-1]
    assert missing(part) == set()
    moved = shutil.move(part.root, tmp_path / "moved")
    assert verify_links(Log(moved)) == []


@pytest.mark.parametrize("point", ["rename.after:2", "open.created:2", "rename.before:3", "rename.after:3"])
def test_a_kill_between_a_seal_and_the_next_opening_loses_no_link(log, run_child, point):
    assert run_child("write-many", log.root, point)[0] == -9
    recover(log)
    *others, last = [place.segment for place in log.segments()]
    assert unnamed(log) == [last]
    with log.open_segment("quick", "attempt") as writer:
        assert follows(writer.path) == [last]
    assert verify_log(log) == verify_links(log) == []
    assert named(log) == {*others, last}


@pytest.mark.parametrize(
    "store",
    [ROOT / "mlruns.example", *sorted((ROOT / "tests" / "assets").glob("log-*"))],
    ids=lambda p: p.name,
)
def test_logs_without_links_verify_as_before_and_the_next_segment_names_their_newest(store, tmp_path):
    shutil.copytree(ROOT / store / "log", tmp_path / "old" / "log")
    log = Log(tmp_path / "old")
    assert verify_links(log) == []
    for campaign in log.campaigns():
        sealed = [place.segment for place in log.segments(campaign)][:MOST_LINKS]
        with log.open_segment(campaign, "fit") as writer:
            assert follows(writer.path) == sealed
    assert verify_links(log) == []


class HastyDisk(Disk):
    def sync(self, handle, path):
        pass

    def sync_folder(self, path):
        pass


class Links(RuleBasedStateMachine):
    """Processes that open, seal, die and recover in one folder, segments that arrive; naive beside clever."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.logs = [Log(self.folder / "here", disk=HastyDisk()) for _ in range(3)]
        self.here, self.there = self.logs[0], Log(self.folder / "there", disk=HastyDisk())
        self.ends = [LooseEnds(self.here.folder / "quick", most=2) for _ in range(2)]
        self.live, self.away = [], []

    def teardown(self):
        for writer in self.live:
            writer.close()
        recover(self.here)
        self.arrive_all()
        assert verify_links(self.here) == []
        shutil.rmtree(self.folder)

    @rule(process=st.integers(0, 2))
    def open(self, process):
        expected = unnamed(self.here)[:MOST_LINKS]
        writer = self.logs[process].open_segment("quick", "attempt", {"cell": "a"})
        assert follows(writer.path) == expected
        self.live.append(writer)

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def seal(self, data):
        self.live.pop(data.draw(st.integers(0, len(self.live) - 1))).seal()

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def die(self, data):
        self.live.pop(data.draw(st.integers(0, len(self.live) - 1))).close()

    @rule()
    def recover(self):
        recover(self.here)

    @rule(count=st.integers(1, 20))
    def write_elsewhere(self, count):
        for _ in range(count):
            with self.there.open_segment("quick", "attempt", {"cell": "b"}) as writer:
                pass
            self.away.append(writer.path.with_name(f"{writer.segment}.jsonl"))

    @precondition(lambda self: self.away)
    @rule(data=st.data())
    def arrive(self, data):
        self.here.adopt(self.away.pop(data.draw(st.integers(0, len(self.away) - 1))))

    @rule()
    def arrive_all(self):
        for path in self.away:
            self.here.adopt(path)
        self.away.clear()

    @rule(process=st.integers(0, 1))
    def look(self, process):
        links = self.ends[process].look()
        assert [link.segment for link in links] == unnamed(self.here)[:2]
        places = {place.segment: place for place in self.here.segments("quick")}
        assert [link.head for link in links] == [read_seal(places[link.segment]).head for link in links]

    @rule()
    def only_what_has_not_arrived_is_missing(self):
        assert missing(self.here) == named(self.here) - ids(self.here.segments("quick"))


TestLinks = Links.TestCase
TestLinks.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)
