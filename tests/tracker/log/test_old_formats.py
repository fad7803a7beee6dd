"""Logs of every released format lie in `tests/assets/log-*` and replay to what they were."""

import json
import shutil
from pathlib import Path

import pytest

from schemas import PAYLOADS
from tracker.log import Log, campaign_checkpoint, read_segment, recover, verify_log

ASSETS = sorted((Path(__file__).parents[2] / "assets").glob("log-*"))


@pytest.fixture(params=ASSETS, ids=lambda folder: folder.name)
def old(request, tmp_path):
    shutil.copytree(request.param, tmp_path / "old")
    return Log(tmp_path / "old"), json.loads((request.param / "expected.json").read_text())


def test_there_are_some():
    assert ASSETS


def test_every_segment_verifies_and_reads_as_it_did(old):
    log, expected = old
    assert {
        place.segment: [event.type for event in read_segment(place.path)] for place in log.segments()
    } == expected["types"]
    assert campaign_checkpoint(log, "sample").plain() == expected["checkpoint"]


def test_every_payload_is_one_of_today(old):
    log, _ = old
    for place in log.segments():
        for event in read_segment(place.path):
            if event.type in PAYLOADS:
                PAYLOADS[event.type].parse(event.data, where=f"{place.path}:{event.seq + 1}")


def test_what_its_writer_left_open_can_still_be_recovered(old):
    log, expected = old
    (open_one,) = log.open_segments()
    assert [finding.what for finding in verify_log(log)] == ["unsealed segment"]
    (done,) = recover(log).sealed
    assert (done.kept, done.cut_bytes, done.unit) == (2, 4, "attempt")
    assert verify_log(log) == []
    assert open_one.segment not in expected["types"]
    assert [event.type for event in read_segment(done.path)][2:] == [
        "segment.cut",
        "cell.failed",
        "segment.sealed",
    ]
