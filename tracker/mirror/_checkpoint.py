"""A campaign's checkpoint as its experiment carries it: how much evidence was mirrored, under which root."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from schemas import InvalidInputError, canonical_json
from tracker.log import Finding, Log, SealedSegment, leaf_of, merkle_root, read_seal
from tracker.mirror._run_plan import SEGMENT_TAG
from tracker.mirror._told import milliseconds
from tracker.mlflow_store import SEAL_TAG, RunView, Tracking

CHECKPOINT_TAG = "ledger.checkpoint"


@dataclass(frozen=True, slots=True)
class MirroredCheckpoint:
    """The mirrored segments of a campaign under one Merkle root, as `tracker.log.Checkpoint` has it.

    `count` segments hold `events` lines; `time` is that of the youngest seal, in milliseconds since 1970.
    """

    root: str
    count: int
    events: int
    time: int

    def text(self) -> str:
        """The tag's value: canonical JSON."""
        return canonical_json(asdict(self)).decode()


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A segment in the tree: its leaf, lines with the seal's, time of the seal in milliseconds."""

    leaf: bytes
    lines: int
    time: int


def parse_checkpoint(text: str) -> MirroredCheckpoint:
    """The checkpoint that a tag's value says.

    Raises:
        InvalidInputError: it says none.
    """
    try:
        value: Any = json.loads(text)
        checkpoint = MirroredCheckpoint(**value)
        if checkpoint.text() == text:
            return checkpoint
    except (ValueError, TypeError, RecursionError):
        pass
    raise InvalidInputError(f"tag {CHECKPOINT_TAG} is {text[:80]!r}, no checkpoint")


def write_checkpoint(log: Log, tracking: Tracking, campaign: str, experiment: str) -> str | None:
    """Set the experiment's tag to what is mirrored now; why not, where it would cover less than before.

    Raises:
        StoreUnavailableError: the store does not answer.
    """
    present = (tracking.experiment_tags(campaign) or {}).get(CHECKPOINT_TAG)
    current = checkpoint_of(_leaves(log, campaign, tracking.runs(experiment, deleted=True)))
    if current is None or present == current.text():
        return None
    if present is not None:
        before = parse_checkpoint(present)
        if (current.count, current.events) <= (before.count, before.events):
            return (
                f"experiment {campaign}: the checkpoint covers {before.count} segments under root "
                f"{before.root}, here are {current.count} under {current.root}; run `layoutledger verify`"
            )
    tracking.tag_experiment(experiment, CHECKPOINT_TAG, current.text())
    return None


def check_checkpoint(
    log: Log, campaign: str, tags: Mapping[str, str], runs: Iterable[RunView]
) -> Iterator[Finding]:
    """Every way in which the log and the runs are not what the experiment's checkpoint covered.

    Segments sealed after the checkpoint's time may have come since; those before must give its root.
    """
    where, leaves = f"experiment {campaign}: {CHECKPOINT_TAG}", _leaves(log, campaign, runs)
    present = tags.get(CHECKPOINT_TAG)
    if present is None:
        if leaves:
            yield Finding("missing checkpoint", where, f"a root over {len(leaves)} segments", "none: push")
        return
    try:
        before = parse_checkpoint(present)
    except InvalidInputError as error:
        yield Finding("edited checkpoint", where, "a checkpoint", str(error))
        return
    covered = checkpoint_of({name: leaf for name, leaf in leaves.items() if leaf.time <= before.time})
    if covered == before or checkpoint_of(leaves) == before:
        return
    count = 0 if covered is None else covered.count
    what = "deleted segment" if count < before.count else "checkpoint does not match"
    yield Finding(what, where, before.text(), "no segment" if covered is None else covered.text())


def checkpoint_of(leaves: Mapping[str, _Leaf]) -> MirroredCheckpoint | None:
    """The root over these segments, ascending by id; None where there are none."""
    if not leaves:
        return None
    ordered = [leaves[segment] for segment in sorted(leaves)]
    return MirroredCheckpoint(
        merkle_root([each.leaf for each in ordered]),
        len(ordered),
        sum(each.lines for each in ordered),
        max(each.time for each in ordered),
    )


def _leaves(log: Log, campaign: str, runs: Iterable[RunView]) -> dict[str, _Leaf]:
    """Each mirrored segment: as the log has it, or, where the log lacks it, as its run tells."""
    places = {place.segment: place for place in log.segments(campaign)}
    leaves: dict[str, _Leaf] = {}
    for run in runs:
        segment = run.tags.get(SEGMENT_TAG)
        if segment is None or SEAL_TAG not in run.tags:
            continue
        if segment in places:
            leaves[segment] = _of_seal(read_seal(places[segment]))
        elif segment not in leaves:
            leaves[segment] = _of_run(segment, run)
    return leaves


def _of_seal(seal: SealedSegment) -> _Leaf:
    return _Leaf(leaf_of(seal), seal.count + 1, milliseconds(seal.time))


def _of_run(segment: str, run: RunView) -> _Leaf:
    tags, count = run.tags, run.tags.get("ledger.events", "")
    number = int(count) if count.isdecimal() and len(count) < 16 else 0
    told = {
        "segment": segment,
        "count": number,
        "root": tags.get("ledger.root", ""),
        "head": tags.get("ledger.head", ""),
    }
    return _Leaf(canonical_json(told), number + 1, run.end or 0)
