"""Loading in real process groups: one rank resolves, all agree or all fail alike."""

import json
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import pytest

from planner import load
from planner._group import Group, agree
from schemas import InvalidInputError, LayoutLedgerError, NotFoundError

RANKS = 2
CHILD = """
    import json, sys, time
    import torch.distributed as dist
    from mlflow import MlflowClient
    import planner
    from schemas import LayoutLedgerError

    rank, ranks, meeting, uri = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    dist.init_process_group("gloo", store=dist.FileStore(meeting, ranks), rank=rank, world_size=ranks)

    def move(version):
        if rank == 0:
            MlflowClient(uri, uri).set_registered_model_alias("layout-cost", "champion", str(version))
        dist.barrier()

    def alone():
        # Rank 0 resolves, the alias moves, the others resolve.
        found = planner.load("layout-cost", alias="champion", tracking_uri=uri).digest if rank == 0 else None
        dist.barrier()
        move(2)
        return found or planner.load("layout-cost", alias="champion", tracking_uri=uri).digest

    def together():
        # The others arrive late; what rank 0 resolved counts, whatever the registry says by now.
        if rank > 0:
            time.sleep(0.3)
            MlflowClient(uri, uri).set_registered_model_alias("layout-cost", "champion", "2")
        return planner.load("layout-cost", alias="champion", tracking_uri=uri, group=dist.group.WORLD).digest

    def failing(**asked):
        try:
            planner.load("layout-cost", tracking_uri=uri, group=dist.group.WORLD, **asked)
        except LayoutLedgerError as error:
            return [type(error).__name__, str(error)]

    move(1)
    results = {"alone": alone()}
    dist.barrier()
    move(1)
    results["together"] = together()
    results["unknown"] = failing(alias="rival")
    results["wrong"] = failing(version=1, alias="champion")
    print(json.dumps(results), flush=True)
    dist.barrier()
    dist.destroy_process_group()
"""


@pytest.fixture
def outcomes(registry, write_bundle, tmp_path, monkeypatch):
    """What each rank got."""
    for folder, tables in (("one", ()), ("two", ("cpu",))):
        registry.register(write_bundle(*tables, folder=folder))
    command = [sys.executable, "-c", textwrap.dedent(CHILD)]
    ranks = []
    for rank in range(RANKS):
        # Ranks of a cluster share no cache.
        monkeypatch.setenv("LAYOUTLEDGER_CACHE", str(tmp_path / f"cache-{rank}"))
        arguments = [str(rank), str(RANKS), str(tmp_path / "meeting"), registry.uri]
        ranks.append(
            subprocess.Popen(
                [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        )
    found = []
    for rank in ranks:
        out, err = rank.communicate(timeout=400)
        assert rank.returncode == 0, err
        found.append(json.loads(out))
    return found


def test_ranks_that_resolve_alone_may_disagree_and_a_group_never_does(outcomes):
    alone = [found["alone"] for found in outcomes]
    assert alone[0] != alone[1]
    assert {found["together"] for found in outcomes} == {alone[0]}
    (error,) = {tuple(found["unknown"]) for found in outcomes}
    assert error[0] == "NotFoundError"
    assert "no alias 'rival'" in error[1]
    assert {found["wrong"][0] for found in outcomes} == {"InvalidInputError"}


def test_the_first_failing_ranks_error_is_every_ranks():
    def fail():
        raise NotFoundError("mine")

    others = [(True, "fine"), (False, InvalidInputError("theirs"))]
    group = Group(2, lambda own: [*others, own])
    with pytest.raises(InvalidInputError, match="theirs"):
        agree(group, fail)


def test_an_unexpected_failure_reaches_the_other_ranks_too():
    sent = []

    def gather(own):
        sent.append(own)
        return [own]

    with pytest.raises(LayoutLedgerError, match="rank 0: ZeroDivisionError"):
        agree(Group(0, gather), lambda: 1 // 0)
    assert sent[0][0] is False


def test_anything_with_rank_and_gather_is_a_group(write_bundle):
    bundle = write_bundle("cpu")
    group = SimpleNamespace(rank=0, gather=lambda own: [own])
    assert load(bundle.path, group=group).digest == load(bundle.path).digest


def test_what_is_no_group_is_refused(write_bundle):
    with pytest.raises(InvalidInputError, match="process group"):
        load(write_bundle().path, group="world")
