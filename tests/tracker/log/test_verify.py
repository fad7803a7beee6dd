"""Every kind of tampering is a finding that says what, where, expected, found; nothing is changed."""

import json

import pytest

from schemas import canonical_json, digest_bytes
from tracker.log import Disk, Log, campaign_checkpoint, merkle_root, recover, verify_log


@pytest.fixture
def places(log, write_attempt):
    return [write_attempt(log, cell=cell) for cell in ("a", "b", "c")]


def rewrite(path, edit):
    """Rewrite a segment with one line edited and every digest, link and the seal made good."""
    lines, prev, written = path.read_bytes().splitlines(), None, []
    for number, line in enumerate(lines):
        event = json.loads(line)
        if number == 2:
            edit(event)
        if number == len(lines) - 1:
            event["data"]["root"] = merkle_root(written)
        del event["digest"]
        event["prev"] = prev or event["prev"]
        prev = digest_bytes(canonical_json(event))
        written.append(canonical_json({**event, "digest": prev}))
    path.write_bytes(b"\n".join(written) + b"\n")


def lines_edit(edit):
    def apply(path):
        path.write_bytes(b"".join(line + b"\n" for line in edit(path.read_bytes().splitlines())))

    return apply


TAMPERINGS = {
    "a flipped byte": (lines_edit(lambda ls: [*ls[:2], ls[2].replace(b"1.5", b"1.4"), *ls[3:]]), 3),
    "a replaced line": (lines_edit(lambda ls: [*ls[:2], ls[1], *ls[3:]]), 3),
    "a dropped line": (lines_edit(lambda ls: [*ls[:3], *ls[4:]]), 4),
    "reordered lines": (lines_edit(lambda ls: [*ls[:2], ls[3], ls[2], *ls[4:]]), 3),
    "a dropped seal": (lines_edit(lambda ls: ls[:-1]), 7),
    "a truncated file": (lambda path: path.write_bytes(path.read_bytes()[:900]), None),
    "an emptied file": (lambda path: path.write_bytes(b""), 1),
    "an added line": (lines_edit(lambda ls: [*ls, ls[-1]]), 8),
}


def test_an_untouched_log_has_no_findings(log, places):
    assert verify_log(log, [campaign_checkpoint(log, "quick")]) == []
    assert verify_log(Log(log.root / "nowhere")) == []


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_found_in_its_line_and_changes_nothing(log, places, contents, name):
    tamper, line = TAMPERINGS[name]
    tamper(places[1].path)
    before = contents(log.root)
    (finding,) = verify_log(log)
    assert finding.what == "damaged segment"
    assert finding.where.startswith(f"{places[1].path}:")
    if line is not None:
        assert finding.where == f"{places[1].path}:{line}"
    assert finding.expected and finding.found
    assert set(finding.plain()) == {"what", "where", "expected", "found"}
    assert contents(log.root) == before


def test_several_tamperings_are_all_found(log, places):
    for place in places[:2]:
        place.path.write_bytes(place.path.read_bytes()[:-3])
    (log.folder / "quick" / "note.txt").write_text("")
    (log.folder / "stray").write_text("")
    assert [finding.what for finding in verify_log(log)] == [
        "damaged segment",
        "damaged segment",
        "unexpected file",
        "unexpected file",
    ]


def test_history_rewritten_with_good_digests_shows_against_a_checkpoint(log, places):
    checkpoint = campaign_checkpoint(log, "quick")
    rewrite(places[1].path, lambda event: event["data"].update(ms=0.5))
    assert verify_log(log) == []
    (finding,) = verify_log(log, [checkpoint])
    assert finding.what == "checkpoint does not match"
    assert finding.expected == checkpoint.root


def test_even_a_rewritten_seal_alone_shows_against_a_checkpoint(log, places):
    checkpoint = campaign_checkpoint(log, "quick")
    *lines, last = places[1].path.read_bytes().splitlines()
    seal = json.loads(last)
    del seal["digest"]
    seal["time"] = "2020-01-01T00:00:00.000000Z"
    lines.append(canonical_json({**seal, "digest": digest_bytes(canonical_json(seal))}))
    places[1].path.write_bytes(b"\n".join(lines) + b"\n")
    assert verify_log(log) == []
    assert [finding.what for finding in verify_log(log, [checkpoint])] == ["checkpoint does not match"]


def test_a_deleted_segment_shows_against_a_checkpoint(log, places):
    checkpoint = campaign_checkpoint(log, "quick")
    places[1].path.unlink()
    (finding,) = [
        finding for finding in verify_log(log, [checkpoint]) if finding.expected == places[1].segment
    ]
    assert finding.what == "deleted segment"


def test_a_damaged_seal_shows_in_both_ways(log, places):
    checkpoint = campaign_checkpoint(log, "quick")
    places[0].path.write_bytes(places[0].path.read_bytes()[:-5] + b"\n")
    assert [finding.what for finding in verify_log(log, [checkpoint])] == [
        "damaged segment",
        "checkpoint does not match",
    ]


def test_a_newer_event_is_a_finding(log):
    with log.open_segment("quick", "attempt") as writer:
        writer.append("cell.completed", {}, version=7)
    (finding,) = verify_log(log)
    assert finding.what == "unreadable segment"
    assert "newer" in finding.found


def test_a_live_writer_is_no_finding_and_a_dead_one_is(log):
    writer = log.open_segment("quick", "attempt")
    assert verify_log(log) == []
    writer.close()
    (finding,) = verify_log(log)
    assert (finding.what, finding.where) == ("unsealed segment", str(writer.path))


def test_damage_in_an_open_segment_is_found(log):
    writer = log.open_segment("quick", "attempt")
    writer.append("cell.started", {"a": 1})
    writer.path.write_bytes(writer.path.read_bytes().replace(b'"a":1', b'"a":2'))
    (finding,) = verify_log(log)
    assert finding.where == f"{writer.path}:2"
    writer.close()


def test_a_segment_moved_to_another_campaign_is_found(log, places):
    other = log.folder / "other"
    other.mkdir()
    places[2].path.rename(other / places[2].path.name)
    (finding,) = verify_log(log)
    assert (finding.expected, finding.found) == ("subject.campaign other", "subject.campaign quick")


class OverlookedDisk(Disk):
    """Verifies and recovers its own log before each fsync of a file and each rename, as others may."""

    def __init__(self, log):
        self.log, self.seen = log, []

    def sync(self, handle, path):
        self._look(path)
        super().sync(handle, path)

    def rename(self, old, new):
        self._look(old)
        super().rename(old, new)

    def _look(self, path):
        recover(self.log)
        assert path.exists()
        self.seen.append((path.suffix, verify_log(self.log)))


def test_a_pull_that_goes_on_is_no_finding_and_no_leftover(log, write_attempt, tmp_path):
    foreign = write_attempt(Log(tmp_path / "foreign"))
    disk = OverlookedDisk(log)
    Log(log.root, disk=disk).adopt(foreign.path)
    assert disk.seen == [(".incoming", []), (".incoming", [])]
    assert [place.segment for place in log.segments()] == [foreign.segment]


def test_a_pull_that_a_crash_ended_is_told_as_such_and_removed_by_recovery(log, places):
    left = log.folder / f"{places[0].segment}.incoming"
    left.write_bytes(places[0].path.read_bytes()[:100])
    (finding,) = verify_log(log)
    assert (finding.what, finding.where) == ("unfinished pull", str(left))
    assert left.exists()
    recover(log)
    assert verify_log(log) == [] and not left.exists()
