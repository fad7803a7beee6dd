"""Nothing acknowledged is lost, whatever kills the writer; damage elsewhere is refused."""

import json

import pytest

from schemas import CorruptionError, StoreUnavailableError, digest_bytes
from tracker.log import Log, read_segment, recover, verify_log

# Opening passes fsync and rename once, then come the events.
WRITER_POINTS = [
    "open.created",
    *(f"fsync.{side}:{number}" for side in ("before", "after") for number in range(1, 6)),
    *(f"append.{side}:{number}" for side in ("before", "after") for number in (1, 3, 5)),
    "seal.before",
    *(f"rename.{side}:{number}" for side in ("before", "after") for number in (1, 2)),
]
RECOVERY_POINTS = [
    "fsync.before",
    "fsync.after",
    "recover.written",
    *(f"rename.{side}:{number}" for side in ("before", "after") for number in (1, 2)),
]


@pytest.mark.parametrize("point", WRITER_POINTS)
def test_a_writer_killed_at_any_point(log, run_child, contents, point):
    status, output = run_child("write", log.root, point)
    assert status == -9
    told = output.split()
    recover(log)
    after = contents(log.root)
    assert recover(log) == recover(log)
    assert contents(log.root) == after
    assert verify_log(log) == []
    assert not any(name.endswith((".new", ".recovering", ".open.jsonl")) for name in after)
    places = log.segments()
    if not told:
        assert len(places) <= 1
        return
    events = read_segment(places[0].path)
    assert places[0].segment == told[1]
    acknowledged = [word for word in told[2:] if word != "sealed"]
    assert [event.id for event in events][1 : 1 + len(acknowledged)] == acknowledged
    ended = [event for event in events if event.type in ("cell.completed", "cell.failed")]
    assert len(ended) == 1
    if ended[0].type == "cell.failed":
        samples = sum(event.type == "sample.recorded" for event in events)
        assert ended[0].data["kind"] == "interrupted"
        assert (ended[0].data["cell"], ended[0].data["samples"]) == ("cell-a", samples)


@pytest.mark.parametrize("point", RECOVERY_POINTS)
def test_a_recovery_killed_at_any_point_is_completed_by_the_next(log, run_child, point):
    assert run_child("write", log.root, "append.after:4")[0] == -9
    assert run_child("recover", log.root, point)[0] == -9
    recover(log)
    assert verify_log(log) == []
    (place,) = log.segments()
    types = [event.type for event in read_segment(place.path)]
    assert types == [
        "segment.opened",
        "cell.started",
        *["sample.recorded"] * 3,
        "cell.failed",
        "segment.sealed",
    ]


def test_the_environment_names_the_point(log, start_child):
    with start_child("write", log.root, "append.before:2") as child:
        told = child.stdout.read().split()
    assert child.returncode == -9
    assert len(told) == 3
    recover(log)
    assert [event.type for event in read_segment(log.segments()[0].path)][1:] == [
        "cell.started",
        "cell.failed",
        "segment.sealed",
    ]


def test_cut_at_every_byte(tmp_path, write_attempt, hasty_disk):
    sealed = write_attempt(Log(tmp_path / "whole"), samples=1)
    data = sealed.path.read_bytes()
    lines = data.splitlines(keepends=True)
    for offset in range(len(data)):
        log = Log(tmp_path / f"cut{offset}", disk=hasty_disk)
        folder = log.folder / "quick"
        folder.mkdir(parents=True)
        (folder / f"{sealed.segment}.open.jsonl").write_bytes(data[:offset])
        recover(log)
        whole = data[:offset].count(b"\n")
        torn = data[sum(map(len, lines[:whole])) : offset]
        (place,) = log.segments()
        kept = place.path.read_bytes().splitlines(keepends=True)
        assert kept[:whole] == lines[:whole]
        events = read_segment(place.path)
        cuts = [event.data for event in events if event.type == "segment.cut"]
        assert cuts == ([{"bytes": len(torn), "digest": digest_bytes(torn)}] if torn else [])
        assert len(events) == whole + (whole == 0) + bool(torn) + (whole < 4) + 1
        if whole == 0:
            assert events[0].data["unit"] == "unknown"


def test_a_seal_that_was_written_but_not_renamed_is_only_renamed(log, write_attempt):
    sealed = write_attempt(log)
    data = sealed.path.read_bytes()
    sealed.path.rename(sealed.path.with_name(f"{sealed.segment}.open.jsonl"))
    (done,) = recover(log).sealed
    assert (done.path, done.kept, done.cut_bytes) == (sealed.path, 7, 0)
    assert sealed.path.read_bytes() == data


def test_damage_before_the_last_line_is_refused_and_nothing_is_changed(log, write_attempt, contents):
    for cell in ("a", "b"):
        sealed = write_attempt(log, cell=cell)
        lines = sealed.path.read_bytes().splitlines(keepends=True)[:-1]
        if cell == "b":
            lines[2] = lines[2].replace(b'"ms":1.5', b'"ms":1.4')
        sealed.path.with_name(f"{sealed.segment}.open.jsonl").write_bytes(b"".join(lines))
        sealed.path.unlink()
    before = contents(log.root)
    with pytest.raises(CorruptionError, match=rf"{sealed.segment}\.open\.jsonl: line 3: a digest of"):
        recover(log)
    assert contents(log.root) == before


def test_a_complete_last_line_that_is_damaged_is_not_cut(log, write_attempt, contents):
    sealed = write_attempt(log)
    data = bytearray(b"".join(sealed.path.read_bytes().splitlines(keepends=True)[:-1]))
    data[-20] ^= 1
    sealed.path.unlink()
    sealed.path.with_name(f"{sealed.segment}.open.jsonl").write_bytes(bytes(data))
    before = contents(log.root)
    with pytest.raises(CorruptionError, match="line 6"):
        recover(log)
    assert contents(log.root) == before


def test_a_live_writer_is_left_alone_and_named(log):
    with log.open_segment("quick", "attempt", {"cell": "a"}) as writer:
        assert recover(log).live == (writer.path,)
        assert recover(log).sealed == ()
        writer.append("cell.completed", {"cell": "a"})
    assert recover(log).live == ()
    assert len(log.segments()) == 1


def test_other_units_are_closed_as_interrupted(log):
    writer = log.open_segment("quick", "fit", {"fit": "f1"})
    writer.close()
    (done,) = recover(log).sealed
    assert done.unit == "fit"
    assert [event.type for event in read_segment(done.path)][1:] == ["segment.interrupted", "segment.sealed"]


def test_the_recoverer_is_named_as_the_source_of_what_it_wrote(log, run_child):
    run_child("write", log.root, "append.after:2")
    recover(log)
    events = read_segment(log.segments()[0].path)
    assert len({event.source.pid for event in events[:2]}) == 1
    assert events[-1].source.pid != events[0].source.pid
    assert events[-1].subject == events[0].subject


def test_an_open_copy_of_a_sealed_segment_is_dropped(log, write_attempt, contents):
    sealed = write_attempt(log)
    before = contents(log.root)
    stale = sealed.path.with_name(f"{sealed.segment}.open.jsonl")
    stale.write_bytes(sealed.path.read_bytes()[:1500])
    recover(log)
    assert contents(log.root) == before


def test_an_open_segment_that_contradicts_the_sealed_one_is_refused(log, write_attempt, tmp_path):
    sealed, other = write_attempt(log), write_attempt(Log(tmp_path / "other"))
    line = json.loads(other.path.read_bytes().splitlines()[0])
    assert line["subject"]["segment"] != sealed.segment
    forged = log.open_segment("quick", "attempt", {"cell": "b"})
    forged.close()
    forged.path.with_name(f"{forged.segment}.jsonl").write_bytes(sealed.path.read_bytes())
    with pytest.raises(CorruptionError, match="beside it"):
        recover(log)
    assert forged.path.exists()


def test_a_folder_that_cannot_be_written_stays_as_it_is(log, run_child, contents):
    run_child("write", log.root, "append.after:2")
    before = contents(log.root)

    class FullDisk(type(log.disk)):
        def write(self, handle, data, path):
            raise StoreUnavailableError(f"{path}: no space")

    with pytest.raises(StoreUnavailableError):
        recover(Log(log.root, disk=FullDisk()))
    assert {name: data for name, data in contents(log.root).items() if data} == before
    recover(log)
    assert verify_log(log) == []


def test_a_campaign_may_be_called_like_what_a_crash_leaves(log, write_attempt):
    places = [
        write_attempt(log, campaign=name) for name in ("quick.new", "quick.recovering", "quick.incoming")
    ]
    assert recover(log).sealed == ()
    assert verify_log(log) == []
    assert len(log.segments()) == len(places)
