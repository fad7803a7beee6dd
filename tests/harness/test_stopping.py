"""The rule that ends an attempt, asked between rounds."""

import pytest

from harness._stopping import Stopping
from schemas import Protocol, SampleRecorded

FIXED = Protocol(rounds=4, required=3, extra_rounds=2)
ADAPTIVE = Protocol.parse({"rounds": 12, "required": 3, "extra_rounds": 2, "adaptive": {}}, where="here")
# A quiet machine: a tenth of a percent between rounds.
JITTER = (1.0, 1.001, 0.999)


def sample(
    name: str, number: int, ms: float, *, usable: bool = True, role: str = "measured"
) -> SampleRecorded:
    return SampleRecorded(
        cell="c",
        candidate=name,
        role=role,
        round=number,
        position=0,
        ms=ms,
        ms_ranks=(ms,),
        compile_events=0,
        run_delay_pct=(0.0,),
        loss=1.0,
        usable=usable,
    )


def ended(protocol: Protocol, times: dict[str, object]) -> tuple[Stopping, str]:
    """Feed rounds until the rule ends them; a time is a number or a function of the round, None unusable."""
    stopping = Stopping(protocol, tuple(times))
    for number in range(100):
        if (reason := stopping.reason()) is not None:
            return stopping, reason
        for place, (name, ms) in enumerate(times.items()):
            value = ms(number) if callable(ms) else ms * JITTER[(number + place) % 3]
            stopping.take(sample(name, number, value or 1.0, usable=value is not None))
    raise AssertionError("never ended")


def test_a_fixed_protocol_runs_its_rounds_and_extra_ones_for_what_lacks():
    stopping, reason = ended(FIXED, {"a": 1.0, "b": 2.0})
    assert (reason, stopping.rounds, stopping.adaptive_end()) == ("rounds", 4, None)
    stopping, reason = ended(FIXED, {"a": 1.0, "b": lambda number: 2.0 if number in (0, 4, 5) else None})
    assert (reason, stopping.rounds, stopping.usable) == ("rounds", 6, {"a": 6, "b": 3})


def test_extra_rounds_end_as_soon_as_they_cannot_suffice():
    stopping, reason = ended(FIXED, {"a": 1.0, "b": lambda _: None})
    assert (reason, stopping.rounds, stopping.lacking) == ("too_few", 4, ("b",))


def test_far_apart_candidates_end_at_the_least_rounds():
    stopping, reason = ended(ADAPTIVE, {"a": 2.0, "b": 1.0, "c": 3.0})
    assert (reason, stopping.rounds) == ("separated", 3)
    end = stopping.adaptive_end()
    assert end is not None
    assert (end.reason, end.rounds, end.saved, end.fastest) == ("separated", 3, 9, "b")


def test_a_tie_within_the_floor_ends_early_too_where_the_noise_is_below_it():
    assert ended(ADAPTIVE, {"a": 1.0, "b": 1.0005})[1] == "separated"


def test_noise_as_large_as_the_gap_goes_on_to_the_budget():
    def noisy(number: int) -> float:
        return 1.0 + 0.3 * (-1) ** number

    stopping, reason = ended(ADAPTIVE, {"a": noisy, "b": lambda number: 2.05 - noisy(number)})
    assert (reason, stopping.rounds) == ("budget", 12)
    end = stopping.adaptive_end()
    assert end is not None
    assert (end.reason, end.saved) == ("budget", 0)


def test_it_never_ends_before_every_candidate_has_its_usable_samples():
    late = {"a": 1.0, "b": lambda number: 2.0 * JITTER[number % 3] if number >= 4 else None}
    stopping, reason = ended(ADAPTIVE, late)
    assert (reason, stopping.rounds, stopping.usable["b"]) == ("separated", 7, 3)
    never = {"a": 1.0, "b": lambda _: None}
    assert ended(ADAPTIVE, never)[1] == "too_few"


def test_a_stall_neither_ends_nor_prolongs_an_attempt():
    def stalling(number: int) -> float:
        return 9.0 if number == 3 else 1.1 * JITTER[number % 3]

    more = ADAPTIVE.model_copy(update={"required": 5})
    calm, hit = ended(more, {"a": 1.0, "b": 1.1})[0], ended(more, {"a": 1.0, "b": stalling})[0]
    assert (calm.rounds, hit.rounds) == (5, 5)
    assert hit.usable["b"] == 5


@pytest.mark.parametrize("protocol", [FIXED, ADAPTIVE])
def test_warm_ups_are_not_counted(protocol: Protocol):
    stopping = Stopping(protocol, ("a",))
    stopping.take(sample("a", 0, 1.0, usable=False, role="warmup"))
    assert (stopping.rounds, stopping.reason()) == (0, None)
