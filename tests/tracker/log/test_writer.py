"""What a writer promises, and what it refuses."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from schemas import InvalidInputError
from tracker.log import Disk, Log, read_segment, verify_log


class CountingDisk(Disk):
    def __init__(self):
        self.syncs = 0
        self.begun: list[int] = []
        self.synced = threading.Event()

    def start_sync(self, handle, size):
        super().start_sync(handle, size)
        self.begun.append(size)

    def sync(self, handle, path):
        super().sync(handle, path)
        self.syncs += 1
        self.synced.set()


@pytest.fixture
def disk():
    return CountingDisk()


@pytest.fixture
def writer(tmp_path, disk):
    return Log(tmp_path, disk=disk).open_segment("quick", "attempt", {"cell": "a"})


def test_each_durable_event_is_synced(writer, disk):
    before = disk.syncs
    for _ in range(3):
        writer.append("cell.started", {})
    assert disk.syncs == before + 3


def test_samples_are_synced_a_hundred_at_a_time(writer, disk):
    before = disk.syncs
    for number in range(250):
        writer.append("sample.recorded", {"round": number}, durable=False)
    assert before + 2 <= disk.syncs
    writer.flush()
    syncs = disk.syncs
    writer.flush()
    assert disk.syncs == syncs, "nothing was left to sync"


def test_a_sample_that_no_other_follows_is_synced_by_itself(writer, disk):
    disk.synced.clear()
    writer.append("sample.recorded", {}, durable=False)
    assert disk.synced.wait(timeout=30)


def test_where_no_thread_can_be_had_a_sample_is_synced_at_once(writer, disk, monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", refuse)
    before = disk.syncs
    writer.append("sample.recorded", {}, durable=False)
    assert disk.syncs == before + 1


def test_a_batch_is_one_write_and_reads_as_single_events(tmp_path, disk):
    writer = Log(tmp_path, disk=disk).open_segment("quick", "attempt")
    writer.append_many("sample.recorded", ({"round": number} for number in range(250)))
    assert writer.count == 251
    events = read_segment(writer.seal().path)
    assert [event.data["round"] for event in events[1:-1]] == list(range(250))
    assert len({event.id for event in events}) == 252
    assert [event.id for event in events] == sorted(event.id for event in events)


@pytest.mark.parametrize(("rows", "due"), [(99, False), (100, True)])
def test_the_disk_begins_with_a_batch_only_when_its_sync_is_due(writer, disk, rows, due):
    before = len(writer.path.read_bytes())
    writer.append_many("sample.recorded", [{"round": 1}] * rows)
    assert disk.begun == ([len(writer.path.read_bytes()) - before] if due else [])


def test_a_batch_of_odd_subjects_and_none_is_written_as_read(log):
    subject = {"cell": "0" * 64 + "%s%b" + "0" * 26, "a": '"seq":0,'}
    writer = log.open_segment("quick", "attempt", subject)
    assert writer.append_many("sample.recorded", []) == 0
    assert writer.append_many("sample.recorded", [{"%d": 1, "b": "%s"}] * 3, version=1) == 3
    events = read_segment(writer.seal().path)
    assert [event.seq for event in events] == [0, 1, 2, 3, 4]
    assert all(event.subject.items() >= subject.items() for event in events)


def test_a_batch_with_one_bad_event_writes_none(writer):
    with pytest.raises(InvalidInputError):
        writer.append_many("sample.recorded", [{"ms": 1.0}, {"ms": float("nan")}])
    assert writer.count == 1
    writer.append("cell.completed", {})
    assert [event.type for event in read_segment(writer.seal().path)][1:2] == ["cell.completed"]


def test_events_are_on_disk_under_the_open_name_before_the_seal(writer):
    event = writer.append("cell.started", {})
    assert event.line() in writer.path.read_bytes()
    sealed = writer.seal()
    assert not writer.path.exists()
    assert sealed.count == 2


@pytest.mark.parametrize(
    ("type", "data", "version"),
    [
        ("segment.sealed", {}, 1),
        ("segment.more", {}, 1),
        ("cell", {}, 1),
        ("Cell.started", {}, 1),
        ('cell."}', {}, 1),
        ("cell.started", {"x": float("nan")}, 1),
        ("cell.started", {"x": object()}, 1),
        ("cell.started", {"x": "y" * 1_000_000}, 1),
        ("cell.started", {"x": [[[]] * 70 for _ in range(3)]}, 0),
    ],
)
def test_an_event_that_no_reader_would_take_is_not_written(writer, type, data, version):
    before = writer.path.read_bytes()
    with pytest.raises(InvalidInputError):
        writer.append(type, data, version=version)
    assert writer.path.read_bytes() == before
    writer.append("cell.completed", {})
    read_segment(writer.seal().path)


def test_data_nested_deeper_than_readers_allow_is_not_written(writer):
    deep: list[object] = []
    for _ in range(80):
        deep = [deep]
    with pytest.raises(InvalidInputError, match="nested deeper"):
        writer.append("cell.started", {"deep": deep})
    read_segment(writer.seal().path)


def test_a_sealed_segment_takes_no_more(writer):
    writer.seal()
    for refused in (lambda: writer.append("cell.started", {}), writer.seal, writer.flush):
        with pytest.raises(InvalidInputError, match="the segment is sealed"):
            refused()
    writer.close()


def test_a_block_that_ends_well_seals_and_one_that_raises_does_not(log):
    with log.open_segment("quick", "attempt") as good:
        good.append("cell.completed", {})
    with pytest.raises(RuntimeError), log.open_segment("quick", "attempt") as bad:
        bad.append("sample.recorded", {}, durable=False)
        raise RuntimeError
    assert [place.segment for place in log.segments()] == [good.segment]
    assert [place.segment for place in log.open_segments()] == [bad.segment]


def test_sealing_within_the_block_is_well(log):
    with log.open_segment("quick", "attempt") as writer:
        writer.seal()
    assert verify_log(log) == []


def test_threads_share_a_writer(writer):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: writer.append("sample.recorded", {"n": n}, durable=False), range(400)))
    events = read_segment(writer.seal().path)
    assert sorted(event.data["n"] for event in events[1:-1]) == list(range(400))


def test_times_are_utc_with_microseconds(writer):
    event = writer.append("cell.started", {})
    now = time.strftime("%Y-%m-%dT%H", time.gmtime())
    assert event.time[:10] == now[:10]
    assert len(event.time) == len("2026-11-30T09:21:47.000000Z")
