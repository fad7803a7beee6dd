"""The folder of segments: opening, listing, adopting; many processes at once."""

import json
import os
import subprocess

import pytest

from schemas import (
    CorruptionError,
    InvalidInputError,
    NotFoundError,
    StoreUnavailableError,
    Unit,
    canonical_json,
    digest_bytes,
)
from tracker.log import Log, campaign_checkpoint, merkle_root, read_segment, verify_log


def test_an_empty_ledger_has_nothing(log):
    assert (log.campaigns(), log.segments(), log.open_segments()) == ((), (), ())
    assert log.segments("quick") == ()


def test_segments_are_listed_by_campaign_and_age(log, write_attempt):
    made = [write_attempt(log, campaign=name) for name in ("b", "a", "b")]
    open_one = log.open_segment("a", "fit")
    assert log.campaigns() == ("a", "b")
    assert [place.segment for place in log.segments()] == [made[i].segment for i in (1, 0, 2)]
    assert [place.path for place in log.segments("b")] == [made[0].path, made[2].path]
    assert [(place.segment, place.sealed) for place in log.open_segments()] == [(open_one.segment, False)]
    assert log.find(made[2].segment).campaign == "b"


def test_files_that_are_no_segments_are_not_listed(log, write_attempt):
    place = write_attempt(log)
    for name in (
        "note.txt",
        "x.jsonl",
        ".hidden",
        f"{place.segment}.jsonl.bak",
        f"{place.segment.lower()}.jsonl",
    ):
        (place.path.parent / name).write_text("")
    (log.folder / "..x").mkdir()
    assert [found.path for found in log.segments()] == [place.path]


def test_what_is_not_there(log, write_attempt):
    write_attempt(log)
    with pytest.raises(NotFoundError, match="no sealed segment"):
        log.find("01M8NW5A2J6XX8AD8WWEEKF8GB")
    with pytest.raises(InvalidInputError, match="expected a ULID"):
        log.find("../../etc/passwd")


@pytest.mark.parametrize(
    ("unit", "subject"), [("party", {}), ("attempt", {"cell": 3}), ("attempt", {3: "a"})]
)
def test_a_unit_or_subject_that_is_none(log, unit, subject):
    with pytest.raises(InvalidInputError):
        log.open_segment("quick", unit, subject)
    assert not log.folder.exists()


def test_every_unit_can_be_opened(log):
    for unit in Unit:
        with log.open_segment("quick", unit) as writer:
            assert writer.unit == unit
    assert [read_segment(place.path)[0].data["unit"] for place in log.segments()] == [
        unit.value for unit in Unit
    ]


def test_a_moved_ledger_goes_on(tmp_path, write_attempt):
    write_attempt(Log(tmp_path / "here"))
    (tmp_path / "here").rename(tmp_path / "there")
    there = Log(tmp_path / "there")
    write_attempt(there)
    assert len(there.segments()) == 2
    assert verify_log(there) == []


class TestAdopting:
    @pytest.fixture
    def foreign(self, tmp_path, write_attempt):
        return write_attempt(Log(tmp_path / "foreign"))

    def test_a_segment_is_taken_in_once(self, log, foreign, contents, tmp_path):
        renamed = tmp_path / "download.part"
        renamed.write_bytes(foreign.path.read_bytes())
        place = log.adopt(renamed)
        assert (place.campaign, place.segment) == ("quick", foreign.segment)
        assert place.path.read_bytes() == foreign.path.read_bytes()
        before = contents(log.root)
        assert log.adopt(foreign.path) == place
        assert contents(log.root) == before
        assert verify_log(log) == []

    def test_merging_two_ledgers_is_the_union(self, log, foreign, write_attempt, tmp_path):
        mine, other = write_attempt(log), Log(tmp_path / "foreign")
        log.adopt(foreign.path)
        other.adopt(mine.path)
        assert campaign_checkpoint(log, "quick") == campaign_checkpoint(other, "quick")

    def refuse(self, log, contents, path, error, reason):
        before = contents(log.root)
        with pytest.raises(error, match=reason):
            log.adopt(path)
        assert contents(log.root) == before

    @pytest.mark.parametrize("cut", [1, 300])
    def test_a_torn_one_is_refused(self, log, foreign, contents, cut):
        foreign.path.write_bytes(foreign.path.read_bytes()[:-cut])
        self.refuse(log, contents, foreign.path, CorruptionError, f"{foreign.path}: line ")

    @pytest.mark.parametrize(
        "subject",
        [
            {"campaign": "../../etc", "segment": "01M8NW5A2J6XX8AD8WWEEKF8GB"},
            {"campaign": "quick", "segment": "../../../tmp/x"},
            {"campaign": "qu\x00ick", "segment": "01M8NW5A2J6XX8AD8WWEEKF8GB"},
            {"campaign": "quick\n", "segment": "01M8NW5A2J6XX8AD8WWEEKF8GB"},
            {"campaign": "/quick", "segment": "01M8NW5A2J6XX8AD8WWEEKF8GB"},
            {"segment": "01M8NW5A2J6XX8AD8WWEEKF8GB"},
            {},
        ],
        ids=str,
    )
    def test_one_that_names_a_place_outside_is_refused(self, log, foreign, contents, subject):
        path = foreign.path
        prev, lines, written = (
            digest_bytes(subject.get("segment", "").encode()),
            path.read_bytes().splitlines(),
            [],
        )
        for line in lines:
            event = {**json.loads(line), "subject": subject, "prev": prev}
            if event["type"] == "segment.sealed":
                event["data"]["root"] = merkle_root(written)
            del event["digest"]
            prev = digest_bytes(canonical_json(event))
            written.append(canonical_json({**event, "digest": prev}))
        path.write_bytes(b"\n".join(written) + b"\n")
        self.refuse(log, contents, path, CorruptionError, "line 1: (campaign name|segment id)")

    def test_another_segment_under_a_known_id_is_refused(self, log, foreign, contents):
        place = log.adopt(foreign.path)
        place.path.write_bytes(place.path.read_bytes() + b" ")
        self.refuse(log, contents, foreign.path, CorruptionError, "another segment with the same id")

    def test_an_event_of_a_newer_program_is_refused(self, log, tmp_path, contents):
        with Log(tmp_path / "newer").open_segment("quick", "attempt") as writer:
            writer.append("cell.completed", {}, version=3)
        path = Log(tmp_path / "newer").segments()[0].path
        self.refuse(log, contents, path, InvalidInputError, "newer")

    def test_no_file_and_no_text(self, log, tmp_path, contents):
        self.refuse(log, contents, tmp_path / "none", StoreUnavailableError, "cannot read")
        (tmp_path / "noise").write_bytes(os.urandom(5000))
        self.refuse(log, contents, tmp_path / "noise", CorruptionError, "line 1")
        (tmp_path / "endless").write_bytes(b"x" * 3_000_000)
        self.refuse(log, contents, tmp_path / "endless", CorruptionError, "999999 are allowed")


def test_eight_processes_at_once_lose_nothing(log, start_child):
    children: list[subprocess.Popen[str]] = [start_child("write-many", log.root) for _ in range(8)]
    told = [child.communicate(timeout=300)[0].split() for child in children]
    assert [child.returncode for child in children] == [0] * 8
    assert verify_log(log) == []
    places = log.segments()
    assert len(places) == 32
    assert not log.open_segments()
    acknowledged = {word for words in told for word in words if len(word) == 26}
    written = {event.id for place in places for event in read_segment(place.path)}
    assert acknowledged - {place.segment for place in places} <= written
    assert len(written) == 32 * (120 + 4)
