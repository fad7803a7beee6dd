"""Lines made together are those of the plain reference: `Event.line` of what is read from them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import MAX_LINE_BYTES, InvalidInputError, Source, canonical_json, genesis_digest
from tests.tracker.log.test_spelling import FLAT
from tracker.log import merkle_root
from tracker.log._encoder import LineEncoder
from tracker.log._strict import parse_line

SEGMENT = "01JDZ3N5X0M8Q2V7R4T6W8Y0AB"
BATCHES = st.dictionaries(st.sampled_from("ab"), st.just(FLAT)).flatmap(
    lambda columns: st.lists(st.fixed_dictionaries(columns), max_size=4)
)


def made(**subject: str) -> LineEncoder:
    source = Source(host='h%s"\x00', pid=1, tool="layoutledger é")
    return LineEncoder(source, {"campaign": "quick", "segment": SEGMENT, **subject})


@given(st.lists(BATCHES, max_size=3), st.text(alphabet='a%b"{}\x00,:é', max_size=8))
def test_lines_are_those_of_the_reference(batches, cell):
    encoder, lines, rows = made(cell=cell), list[bytes](), list[dict]()
    for batch in batches:
        together = encoder.encode_many("sample.recorded", batch, version=3)
        encoder.tree.extend(together)
        lines += together
        lines.append(encoder.encode_line("sample.recorded", {"one": 1.0}).removesuffix(b"\n"))
        rows += [*batch, {"one": 1.0}]
    events = [parse_line(line) for line in lines]
    assert [event.line() for event in events] == lines
    assert [event.computed_digest() for event in events] == [event.digest for event in events]
    heads = [genesis_digest(SEGMENT), *(event.digest for event in events)]
    assert [event.prev for event in events] == heads[:-1] and encoder.head == heads[-1]
    assert [event.seq for event in events] == list(range(len(events)))
    assert [canonical_json(event.data) for event in events] == [canonical_json(row) for row in rows]
    assert encoder.tree.root() == merkle_root(lines)
    ids = [event.id for event in events]
    assert ids == sorted(set(ids))


@pytest.mark.parametrize(
    "bad", [{"ms": math.nan}, {"ms": "\ud800"}, {"ms": object()}, {"ms": "x" * MAX_LINE_BYTES}]
)
def test_one_bad_row_leaves_the_chain_as_it_was(bad):
    encoder = made()
    head = encoder.head
    with pytest.raises(InvalidInputError):
        encoder.encode_many("sample.recorded", [{"ms": 1.0}, bad, {"ms": 1.0}])
    with pytest.raises(InvalidInputError):
        encoder.encode_many("Sample", [{"ms": 1.0}])
    assert (encoder.head, encoder.count) == (head, 0)
