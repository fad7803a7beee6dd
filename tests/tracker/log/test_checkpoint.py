"""One root for a campaign, the same on every machine, and proofs that need no log."""

import copy
import hashlib
import json

import pytest

from schemas import CorruptionError, InvalidInputError, NotFoundError
from tracker.log import (
    Log,
    campaign_checkpoint,
    check_inclusion,
    inclusion_proof,
    leaf_of,
    merkle_root,
    read_seal,
    read_segment,
)


@pytest.fixture
def places(log, write_attempt):
    return [write_attempt(log, cell=cell, samples=number) for number, cell in enumerate("abcde", start=1)]


def test_the_root_is_over_the_seals_in_order_of_their_ids(log, places):
    checkpoint = campaign_checkpoint(log, "quick")
    seals = [read_seal(place) for place in log.segments("quick")]
    assert seals == places
    assert checkpoint.root == merkle_root([leaf_of(seal) for seal in seals])
    assert checkpoint.count == 5
    assert checkpoint.events == sum(len(read_segment(seal.path)) for seal in seals)
    assert checkpoint.time == seals[-1].time
    assert checkpoint.plain()["segments"] == [seal.segment for seal in seals]


def test_a_copy_elsewhere_has_the_same_checkpoint(log, places, tmp_path):
    other = Log(tmp_path / "other")
    for place in reversed(places):
        other.adopt(place.path)
    assert campaign_checkpoint(other, "quick") == campaign_checkpoint(log, "quick")


def test_a_checkpoint_over_some_segments_outlives_later_ones(log, places, write_attempt):
    before = campaign_checkpoint(log, "quick")
    write_attempt(log)
    assert campaign_checkpoint(log, "quick") != before
    assert campaign_checkpoint(log, "quick", before.segments) == before


def test_what_is_not_there(log, places):
    with pytest.raises(NotFoundError, match="any sealed segment"):
        campaign_checkpoint(log, "other")
    with pytest.raises(NotFoundError, match="01M8NW5A2J6XX8AD8WWEEKF8GB"):
        campaign_checkpoint(log, "quick", ["01M8NW5A2J6XX8AD8WWEEKF8GB"])
    with pytest.raises(NotFoundError, match="not among"):
        inclusion_proof(log, places[0].segment, 1, [places[1].segment])
    with pytest.raises(InvalidInputError, match="no line with seq 4"):
        inclusion_proof(log, places[0].segment, 4)


@pytest.mark.parametrize("damage", [b"", b"x\n", b"{}\n"])
def test_a_segment_without_a_seal_has_no_place(log, places, damage):
    places[2].path.write_bytes(damage)
    with pytest.raises(CorruptionError, match=f"{places[2].segment}.jsonl: last line"):
        campaign_checkpoint(log, "quick")


def test_the_seal_of_another_segment_is_refused(log, places):
    seal = places[1].path.read_bytes().splitlines(keepends=True)[-1]
    places[2].path.write_bytes(places[2].path.read_bytes() + seal)
    with pytest.raises(CorruptionError, match="not the seal of this segment"):
        campaign_checkpoint(log, "quick")


def check_alone(proof: dict, campaign_root: str) -> bool:
    """What the documentation shows: the check of a proof in plain Python, with nothing of this project."""

    def climb(leaf: bytes, index: int, count: int, path: list[str]) -> str:
        node, last = hashlib.sha256(b"\x00" + leaf).digest(), count - 1
        for sibling in map(bytes.fromhex, path):
            while not index & 1 and index == last:
                index, last = index >> 1, last >> 1
            pair = sibling + node if index & 1 else node + sibling
            node = hashlib.sha256(b"\x01" + pair).digest()
            index, last = index >> 1, last >> 1
        return node.hex()

    segment, campaign = json.loads(proof["segment"]), proof["campaign"]
    line_root = climb(proof["line"].encode(), proof["index"], proof["count"], proof["path"])
    leaf = proof["segment"].encode()
    top = climb(leaf, campaign["index"], campaign["count"], campaign["path"])
    return line_root == segment["root"] and top == campaign_root


def test_every_line_of_every_segment_has_a_proof(log, places):
    root = campaign_checkpoint(log, "quick").root
    for place in places:
        for event in read_segment(place.path)[:-1]:
            proof = json.loads(json.dumps(inclusion_proof(log, place.segment, event.seq)))
            assert proof["line"].encode() == event.line()
            assert check_inclusion(proof, root)
            assert check_alone(proof, root)


@pytest.mark.parametrize(
    "forge",
    [
        lambda proof: proof.update(line=proof["line"].replace('"ms":1.5', '"ms":1.4')),
        lambda proof: proof.update(index=proof["index"] + 1),
        lambda proof: proof.update(count=proof["count"] + 1),
        lambda proof: proof["path"].reverse(),
        lambda proof: proof.update(segment=proof["segment"].replace('"count":', '"count":1')),
        lambda proof: proof["campaign"].update(index=0),
        lambda proof: proof["campaign"]["path"].pop(),
    ],
)
def test_a_forged_proof_fails(log, places, forge):
    root = campaign_checkpoint(log, "quick").root
    proof = inclusion_proof(log, places[3].segment, 2)
    forged = copy.deepcopy(proof)
    forge(forged)
    assert forged != proof
    assert check_inclusion(proof, root)
    assert not check_inclusion(forged, root)
    assert not check_inclusion(proof, merkle_root([b""]))
