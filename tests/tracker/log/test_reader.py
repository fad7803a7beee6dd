"""A reader lets in what its writer wrote, and names the file and line of everything else."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import InvalidInputError, LayoutLedgerError, canonical_json, digest_bytes
from tracker.log import DamagedSegmentError, Log, iter_segment, read_open_segment, read_segment
from tracker.log._strict import LineParser, RefusedLine, parse_line


def forge(line: bytes, **changes: object) -> bytes:
    """The line with members changed and its digest made good again."""
    event = {**json.loads(line), **changes}
    del event["digest"]
    return canonical_json({**event, "digest": digest_bytes(canonical_json(event))})


def forge_data(line: bytes, data: bytes) -> bytes:
    """The line with raw bytes as its data and a good digest."""
    head, mark = line.index(b'"data":') + 7, line.index(b',"digest":"')
    body = line[:head] + data + line[mark + 76 :]
    return line[:head] + data + b',"digest":"' + digest_bytes(body).encode() + b'"' + line[mark + 76 :]


@pytest.fixture
def lines(log, write_attempt):
    return write_attempt(log).path.read_bytes().splitlines()


def test_what_was_written_is_read(log):
    writer = log.open_segment("quick", "attempt", {"cell": "a"}, fields={"engine": "local"})
    data = {"text": "é\u2028\x00", "big": 2**60, "float": 1e20, "tiny": 1e-9, "list": (1, 2), "none": None}
    written = writer.append("cell.started", data)
    sealed = writer.seal()
    events = read_segment(sealed.path)
    assert events[1] == written
    assert events[1].data == {**data, "big": str(2**60), "float": 1e20, "list": [1, 2]}
    assert events[0].data == {
        "campaign": "quick",
        "segment": sealed.segment,
        "unit": "attempt",
        "engine": "local",
    }
    assert events[0].prev == digest_bytes(sealed.segment.encode())
    assert [event.seq for event in events] == [0, 1, 2]
    assert tuple(iter_segment(sealed.path)) == events


def test_every_flipped_byte_is_found_with_its_line(log, write_attempt):
    path = write_attempt(log, samples=1).path
    data = path.read_bytes()
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= (0x01, 0x20, 0x80)[position % 3]
        path.write_bytes(bytes(damaged))
        with pytest.raises(DamagedSegmentError) as caught:
            read_segment(path)
        line = data[:position].count(b"\n") + 1
        assert (caught.value.path, caught.value.line) == (path, line)
        assert f"{path}: line {line}: " in str(caught.value)
        assert path.read_bytes() == bytes(damaged)


@pytest.mark.parametrize(
    ("edit", "line", "reason"),
    [
        (lambda lines: [*lines[:2], *lines[3:]], 3, "seq 3, expected seq 2"),
        (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], 2, "seq 2, expected seq 1"),
        (lambda lines: [*lines[:2], forge(lines[2], data={"ms": 1}), *lines[3:]], 4, "prev"),
        (lambda lines: lines[:-1], 7, "the end of the file, expected segment.sealed"),
        (lambda lines: [*lines, lines[-1]], 8, "another line"),
        (lambda lines: [*lines[:-1], forge(lines[-1], data={"count": 6, "root": "0" * 64})], 7, "seal"),
        (
            lambda lines: [forge(lines[0], subject={"campaign": "quick", "segment": "x"})],
            1,
            "subject.segment x",
        ),
        (lambda lines: [forge(lines[0], subject={})], 1, "subject.campaign None"),
        (lambda lines: [forge(lines[0], type="cell.started")], 1, "segment.opened on line 1"),
        (lambda lines: [lines[0], forge(lines[1], type="segment.opened")], 2, "segment.opened on line 1"),
        (lambda lines: [], 1, "the end of the file"),
    ],
)
def test_rearranged_lines(log, lines, edit, line, reason):
    path = log.segments()[0].path
    path.write_bytes(b"".join(text + b"\n" for text in edit(lines)))
    with pytest.raises(DamagedSegmentError, match=re.escape(reason)) as caught:
        read_segment(path)
    assert caught.value.line == line


@pytest.mark.parametrize("cut", [1, 40])
def test_a_sealed_segment_with_a_torn_end(log, lines, cut):
    path = log.segments()[0].path
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(DamagedSegmentError, match="an incomplete one"):
        read_segment(path)


def test_an_open_segment_is_read_up_to_its_last_complete_line(log, lines):
    place = log.segments()[0].path
    path = place.rename(place.with_name(place.name.replace(".jsonl", ".open.jsonl")))
    path.write_bytes(path.read_bytes()[:-700])
    assert len(read_open_segment(path)) == path.read_bytes().count(b"\n") < 7


NESTED = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
HOSTILE_DATA = {
    "duplicate key": (b'{"a":1,"a":2}', "duplicate key 'a'"),
    "duplicate key in depth": (b'{"a":[{"b":1,"b":1}]}', "duplicate key 'b'"),
    "NaN": (b'{"a":NaN}', "NaN"),
    "Infinity": (b'{"a":-Infinity}', "-Infinity"),
    "overflow": (b'{"a":1e999}', "canonical JSON"),
    "integer beyond 2^53": (b'{"a":9007199254740993}', "not canonical"),
    "integer beyond doubles": (b'{"a":' + b"9" * 309 + b"}", "beyond every double"),
    "integer of a million digits": (b'{"a":' + b"1" * 900_000 + b"}", "900000 digits"),
    "deep nesting": (NESTED, "nested deeper"),
    "deep lists": (b'{"a":' + b"[" * 70 + b"]" * 70 + b"}", "nested deeper"),
    "a million characters": (b'{"a":"' + b"x" * 1_000_000 + b'"}', "bytes, 999999 are allowed"),
    "control character": (b'{"a":"\x01"}', "no JSON"),
    "lone surrogate": (b'{"a":"\\ud800"}', "canonical JSON"),
    "escaped needlessly": (b'{"a":"\\u0041"}', "not canonical"),
    "not UTF-8": (b'{"a":"\xff"}', "not UTF-8"),
    "unsorted": (b'{"b":1,"a":1}', "not canonical"),
    "spaced": (b'{"a": 1}', "not canonical"),
    "respelled number": (b'{"a":1.0}', "not canonical"),
    "negative zero": (b'{"a":-0}', "not canonical"),
    "not an object": (b"[1]", "data"),
    "cut short": (b'{"a":', "no JSON"),
}


@pytest.mark.parametrize("name", HOSTILE_DATA)
def test_hostile_data_with_a_good_digest_is_refused_with_the_reason(lines, name):
    data, reason = HOSTILE_DATA[name]
    with pytest.raises(RefusedLine, match=re.escape(reason)):
        parse_line(forge_data(lines[1], data))


def outcome(parse, line):
    try:
        return parse(line)
    except RefusedLine as error:
        return str(error)


def test_lines_in_a_row_are_read_as_each_alone(lines):
    parser = LineParser()
    for line in lines:
        event = parser.parse(line)
        assert event == parse_line(line)
        assert (event.line(), event.model_fields_set) == (line, parse_line(line).model_fields_set)
    assert parser._parse_alike(lines[2]) == parse_line(lines[2])


def test_a_flipped_byte_is_refused_with_the_same_reason_after_a_good_line(lines):
    parser = LineParser()
    parser.parse(lines[1])
    for position in range(len(lines[2])):
        damaged = bytearray(lines[2])
        damaged[position] ^= (0x01, 0x20, 0x80)[position % 3]
        assert outcome(parser.parse, bytes(damaged)) == outcome(parse_line, bytes(damaged))


@pytest.mark.parametrize("name", HOSTILE_DATA)
def test_hostile_data_is_refused_with_the_same_reason_after_a_good_line(lines, name):
    parser = LineParser()
    parser.parse(lines[1])
    line = forge_data(lines[2], HOSTILE_DATA[name][0])
    assert outcome(parser.parse, line) == outcome(parse_line, line)


@pytest.mark.parametrize(
    "changes",
    [
        {"time": "2026-02-30T00:00:00.000000Z"},
        {"version": 0},
        {"version": 1_000_000},
        {"version": 1_000_001},
        {"seq": -1},
        {"seq": 10**15},
        {"type": "sample"},
        {"id": "8" * 26},
        {"prev": "A" * 64},
        {"source": {"host": "other", "pid": 1, "tool": "x"}},
        {"subject": {"campaign": "quick", "segment": '","time":"'}},
        {"data": {"source": {}, "digest": "0" * 64, "a": '},"digest":"'}},
        {"data": {"big": 1e300}},
        {"extra": 1},
    ],
)
def test_a_forged_line_is_judged_alike_after_a_good_line(lines, changes):
    parser = LineParser()
    parser.parse(lines[1])
    line = forge(lines[2], **changes)
    assert outcome(parser.parse, line) == outcome(parse_line, line)


def test_honest_data_passes_the_same_forge(lines):
    brackets_in_text = b'{"a":"' + b"[{" * 500 + b'\\""}'
    for data in (b"{}", b'{"a":[0.5,100000000000000000000]}', brackets_in_text):
        assert parse_line(forge_data(lines[1], data)).data == json.loads(data)


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "../../etc/passwd"},
        {"id": "01m8nw5a2j6xx8ad8wweekf8gb"},
        {"type": "cell\n.started"},
        {"type": "Cell"},
        {"version": 0},
        {"version": True},
        {"version": 1.5},
        {"seq": -1},
        {"seq": "1"},
        {"time": "2026-11-30T09:21:47Z"},
        {"time": "2026-13-30T09:21:47.000000Z"},
        {"time": "2026-11-30T09:21:47.000000Z\n"},
        {"subject": {"cell": 1}},
        {"subject": []},
        {"source": {"host": "h", "pid": 1}},
        {"source": {"host": "h", "pid": "1", "tool": "t"}},
        {"prev": "0" * 63},
        {"prev": "G" * 64},
        {"more": 1},
    ],
    ids=str,
)
def test_a_member_that_is_not_what_it_should_be(lines, changes):
    with pytest.raises(RefusedLine, match="no event"):
        parse_line(forge(lines[1], **changes))


def test_a_digest_of_somebody_else(lines):
    mine, other = json.loads(lines[1]), json.loads(lines[2])
    with pytest.raises(RefusedLine, match="a digest of"):
        parse_line(canonical_json({**mine, "digest": other["digest"]}))


def test_an_event_of_a_newer_program_is_refused_as_such_not_as_damage(log, write_attempt):
    writer = log.open_segment("quick", "attempt")
    writer.append("cell.completed", {"cell": "a"}, version=9)
    path = writer.seal().path
    with pytest.raises(InvalidInputError, match=rf"{path.name}: line 2: .*cell.completed version 9 is newer"):
        read_segment(path)


def test_a_file_that_is_not_there(log):
    with pytest.raises(LayoutLedgerError, match="cannot read"):
        read_segment(log.folder / "quick" / "01M8NW5A2J6XX8AD8WWEEKF8GB.jsonl")


def test_a_file_that_is_not_named_like_a_segment(tmp_path):
    with pytest.raises(InvalidInputError, match="not a segment's file name"):
        read_segment(tmp_path / "events.jsonl")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.binary(max_size=200) | json_values.map(lambda value: json.dumps(value).encode()))
def test_fuzzed_lines_are_refused_not_crashed_upon(line):
    with pytest.raises(RefusedLine):
        parse_line(line)


EVENT_MEMBERS = ("data", "digest", "id", "prev", "seq", "source", "subject", "time", "type", "version")


@settings(max_examples=300)
@given(member=st.sampled_from(EVENT_MEMBERS), value=json_values)
def test_an_event_with_any_member_replaced_parses_or_is_refused(member, value):
    line = (
        b'{"data":{},"digest":"","id":"01M8NW5A2J6XX8AD8WWEEKF8GB","prev":"%s","seq":0,"source":{"host":"h",'
        b'"pid":1,"tool":"t"},"subject":{},"time":"2026-11-30T09:21:47.000000Z","type":"a.b","version":1}'
        % (b"0" * 64)
    )
    event = {**json.loads(line), member: value}
    if member != "digest":
        del event["digest"]
        try:
            event["digest"] = digest_bytes(canonical_json(event))
        except InvalidInputError:
            return
    try:
        parsed = parse_line(json.dumps(event).encode() if member == "digest" else canonical_json(event))
    except RefusedLine:
        return
    assert parsed.line() == canonical_json(event)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    writer = Log(tmp_path_factory.mktemp("fuzz")).open_segment("quick", "attempt", {"cell": "a"})
    writer.append("cell.completed", {"cell": "a"})
    return writer.seal().path


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(st.integers(0, 2_000), st.integers(0, 9), st.binary(max_size=6)), min_size=1, max_size=4
    )
)
def test_a_fuzzed_file_is_read_as_it_was_or_refused(whole, splices):
    data = whole.read_bytes()
    damaged = bytearray(data)
    for position, length, replacement in splices:
        damaged[position : position + length] = replacement
    try:
        whole.write_bytes(bytes(damaged))
        read_segment(whole)
        assert bytes(damaged) == data
    except DamagedSegmentError:
        assert bytes(damaged) != data
    finally:
        whole.write_bytes(data)
