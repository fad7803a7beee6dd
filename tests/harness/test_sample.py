import math

import pytest

from harness._comm import single_process
from harness._sample import JointSample, delay_limit_pct, join
from harness._timer import NS_PER_TICK, LocalSample


def joint(*ranks: tuple[int, int, int, float], steal_ns: int = 0) -> JointSample:
    """Ranks by wall and run-delay nanoseconds, compilations and loss."""
    return JointSample(
        tuple(LocalSample(wall, delay, steal_ns, compiled, loss) for wall, delay, compiled, loss in ranks)
    )


def record(sample: JointSample, role: str = "measured", limit: float = 20.0):
    return sample.record(cell="c", candidate="a", role=role, round_number=2, position=1, disturbed_pct=limit)


def test_the_time_is_that_of_the_slowest_rank() -> None:
    kept = record(joint((1_500_000, 0, 0, 2.0), (2_250_000, 45_000, 0, 2.0)))
    assert (kept.ms, kept.ms_ranks, kept.run_delay_pct) == (2.25, (1.5, 2.25), (0.0, 2.0))
    assert (kept.loss, kept.usable, kept.reason) == (2.0, True, None)


def test_one_disturbed_rank_is_enough_and_the_limit_itself_is_still_quiet() -> None:
    quiet, disturbed = joint((100, 20, 0, 1.0), (100, 0, 0, 1.0)), joint((100, 0, 0, 1.0), (100, 21, 0, 1.0))
    assert record(quiet).usable
    assert not record(disturbed).usable
    assert record(disturbed).reason == "disturbed: a rank waited for a processor 21.0% of the time, limit 20%"
    assert record(disturbed, limit=21.0).usable


def test_time_that_the_host_took_disturbs_too_but_one_tick_of_the_clock_does_not() -> None:
    wall = 10 * NS_PER_TICK
    one, three, four = (joint((wall, 0, 0, 1.0), steal_ns=ticks * NS_PER_TICK) for ticks in (1, 3, 4))
    assert [sample.steal_pct for sample in (one, three, four)] == [0.0, 20.0, 30.0]
    assert [record(sample).usable for sample in (one, three, four)] == [True, True, False]
    assert "the host took a processor away 30.0%" in str(record(four).reason)


def test_a_compilation_on_any_rank_spoils_the_sample() -> None:
    kept = record(joint((100, 0, 0, 1.0), (100, 0, 3, 1.0)))
    assert (kept.usable, kept.compile_events) == (False, 3)
    assert kept.reason is not None
    assert kept.reason.startswith("compiled: 3")


def test_a_warm_up_is_never_usable() -> None:
    assert record(joint((100, 0, 0, 1.0)), role="warmup").reason == "warm-up"


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf, 0.1 + 0.2, -0.0])
def test_joining_keeps_every_bit_of_a_loss(loss: float) -> None:
    (kept,) = join(LocalSample(5, 3, 2, 1, loss), single_process()).ranks
    assert (kept.wall_ns, kept.delay_ns, kept.steal_ns, kept.compile_events) == (5, 3, 2, 1)
    assert repr(kept.loss) == repr(loss)
    assert joint((1, 0, 0, loss), (1, 0, 0, 1.0)).finite == math.isfinite(loss)


def test_ranks_that_share_processors_by_design_may_wait_for_one_another() -> None:
    limits = [delay_limit_pct(20.0, ranks, 2) for ranks in (1, 2, 3, 4)]
    assert limits == [20.0, 20.0, 70.0, 120.0]
