"""One number for a campaign's whole evidence, and the proof that a line belongs to it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from schemas import InvalidInputError, NotFoundError, canonical_json
from tracker.log._log import Log
from tracker.log._merkle import audit_path, merkle_root, path_root
from tracker.log._reader import read_segment
from tracker.log._seal import read_seal
from tracker.log._writer import SealedSegment


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A campaign's sealed segments under one Merkle root.

    `count` segments hold `events` lines; `time` is that of the youngest seal, so that equal evidence gives an
    equal checkpoint on every machine. `segments` are ids, ascending.
    """

    campaign: str
    root: str
    count: int
    events: int
    time: str
    segments: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**asdict(self), "segments": list(self.segments)}


def campaign_checkpoint(log: Log, campaign: str, segments: Iterable[str] | None = None) -> Checkpoint:
    """The Merkle root over a campaign's sealed segments, or over those named, in the order of their ids.

    A leaf is the canonical JSON of `segment`, `count`, `root`, `head` of one segment (`leaf_of`). Only the
    seals are read: `verify_log` looks at every line.

    Raises:
        NotFoundError: a named segment is not there, or the campaign has none.
        CorruptionError: a segment has no seal.

    """
    places = {place.segment: place for place in log.segments(campaign)}
    wanted = sorted(places if segments is None else set(segments))
    missing = [segment for segment in wanted if segment not in places]
    if missing or not wanted:
        what = f"segment {missing[0]}" if missing else "any sealed segment"
        raise NotFoundError(f"campaign {campaign!r}: the log does not hold {what}; `pull` may bring it")
    seals = [read_seal(places[segment]) for segment in wanted]
    return Checkpoint(
        campaign,
        merkle_root([leaf_of(seal) for seal in seals]),
        len(seals),
        sum(seal.count + 1 for seal in seals),
        max(seal.time for seal in seals),
        tuple(wanted),
    )


def leaf_of(seal: SealedSegment) -> bytes:
    """A segment's leaf in its campaign's tree."""
    return canonical_json(
        {"segment": seal.segment, "count": seal.count, "root": seal.root, "head": seal.head}
    )


def inclusion_proof(
    log: Log, segment: str, seq: int, segments: Iterable[str] | None = None
) -> dict[str, Any]:
    """Proof that a line stands in a campaign: plain JSON, checked by `check_inclusion` without the log.

    Args:
        log: the log.
        segment: id of a sealed segment.
        seq: the event's `seq`; not the seal.
        segments: the segments of the checkpoint to prove against; all of the campaign by default.

    Raises:
        NotFoundError: no such segment, or it is not among `segments`.
        InvalidInputError: no such line.
        CorruptionError: the segment does not verify.

    """
    place = log.find(segment)
    read_segment(place.path)
    lines = place.path.read_bytes().split(b"\n")[:-2]
    if not 0 <= seq < len(lines):
        raise InvalidInputError(f"{place.path}: no line with seq {seq}; it has 0 to {len(lines) - 1}")
    checkpoint = campaign_checkpoint(log, place.campaign, segments)
    if segment not in checkpoint.segments:
        raise NotFoundError(f"segment {segment} is not among the checkpoint's segments")
    places = {other.segment: other for other in log.segments(place.campaign)}
    leaves = [leaf_of(read_seal(places[other])) for other in checkpoint.segments]
    index = checkpoint.segments.index(segment)
    return {
        "line": lines[seq].decode(),
        "index": seq,
        "count": len(lines),
        "path": list(audit_path(lines, seq)),
        "segment": leaves[index].decode(),
        "campaign": {
            "name": place.campaign,
            "root": checkpoint.root,
            "index": index,
            "count": checkpoint.count,
            "path": list(audit_path(leaves, index)),
        },
    }


def check_inclusion(proof: Mapping[str, Any], campaign_root: str) -> bool:
    """Whether a proof leads from its line, over its segment's root, to this campaign root."""
    segment, campaign = json.loads(proof["segment"]), proof["campaign"]
    line_root = path_root(proof["line"].encode(), proof["index"], proof["count"], proof["path"])
    if line_root != segment["root"] or proof["count"] != segment["count"]:
        return False
    leaf = proof["segment"].encode()
    return path_root(leaf, campaign["index"], campaign["count"], campaign["path"]) == campaign_root
