"""The protocol on one rank, with steps that cost nothing: what is decided from what was seen."""

from collections.abc import Callable

import pytest
import torch

from harness._comm import single_process
from harness._failure import NonFiniteLossError, TooFewUsableError, WarmupNeverQuietError
from harness._faults import FaultInjector
from harness._measure import Bench, CellMeasurement, rotated
from schemas import Protocol, Record, SampleRecorded


class Compiling:
    """A step that compiles anew in its first calls."""

    def __init__(self, calls: int) -> None:
        self.calls = calls

    def __call__(self) -> float:
        self.calls -= 1
        if self.calls >= 0:
            # Dynamo keeps its graphs by code object, so each compilation needs another.
            space: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {}
            exec("def step(x): return x + 1", space)
            torch.compile(space["step"], backend="eager")(torch.ones(1))
        return 1.0


def measure(
    steps: dict[str, Callable[[], float]], **protocol: object
) -> tuple[CellMeasurement, list[SampleRecorded]]:
    emitted: list[SampleRecorded] = []

    def emit(type_: str, record: Record) -> None:
        assert type_ == "sample.recorded"
        assert isinstance(record, SampleRecorded)
        emitted.append(record)

    bench = Bench(
        cell="c",
        steps=steps,
        model=torch.nn.Module(),
        groups=single_process(),
        device=torch.device("cpu"),
        protocol=Protocol.model_validate({"disturbed_pct": 1e9, "rounds": 3, "required": 3, **protocol}),
        faults=FaultInjector(None, 0),
        emit=emit,
    )
    measurement = CellMeasurement(bench)
    measurement.run()
    return measurement, emitted


def one() -> float:
    return 1.0


def test_each_round_starts_one_candidate_further_on() -> None:
    assert [rotated("abc", turn) for turn in range(4)] == [list("abc"), list("bca"), list("cab"), list("abc")]
    _, samples = measure({"a": one, "b": one}, rounds=4, required=4)
    measured = [(s.round, s.position, s.candidate) for s in samples if s.role == "measured"]
    assert measured == [
        (0, 0, "a"),
        (0, 1, "b"),
        (1, 0, "b"),
        (1, 1, "a"),
        (2, 0, "a"),
        (2, 1, "b"),
        (3, 0, "b"),
        (3, 1, "a"),
    ]


def test_over_as_many_rounds_as_candidates_each_runs_once_in_every_place() -> None:
    _, samples = measure(dict.fromkeys("abc", one))
    places = {(s.candidate, s.position) for s in samples if s.role == "measured"}
    assert len(places) == 9


def test_the_least_warm_up_rounds_run_even_when_all_is_quiet() -> None:
    measurement, _ = measure({"a": one}, warmup_rounds=3)
    assert measurement.warmup_rounds == 3


def test_warm_up_goes_on_until_a_round_compiles_nothing() -> None:
    measurement, samples = measure({"a": Compiling(2), "b": one})
    assert measurement.warmup_rounds == 3
    assert [s.compile_events > 0 for s in samples if s.candidate == "a"] == [True, True, *[False] * 4]


def test_a_warm_up_that_is_never_quiet_fails() -> None:
    with pytest.raises(WarmupNeverQuietError, match="warm-up round 4"):
        measure({"a": Compiling(100)}, warmup_limit=4)


def test_extra_rounds_run_for_all_until_the_last_candidate_has_its_samples() -> None:
    measurement, samples = measure({"a": LateCompiling((2, 3)), "b": one}, extra_rounds=5)
    assert measurement.usable == {"a": 3, "b": 5}
    assert max(s.round for s in samples) == 4


class LateCompiling:
    """A step that compiles in the calls of these numbers, the first being 1."""

    def __init__(self, calls: tuple[int, ...]) -> None:
        self.calls, self.number = calls, 0

    def __call__(self) -> float:
        self.number += 1
        return Compiling(self.number in self.calls)()


def test_extra_rounds_end_when_they_can_no_longer_suffice() -> None:
    never = Compiling(100)
    never_after_warm_up = iter([one])

    def step() -> float:
        return next(never_after_warm_up, never)()

    with pytest.raises(TooFewUsableError, match=r"a \(0\)"):
        measure({"a": step}, rounds=3, required=3, extra_rounds=5)
    # Three rounds, and the three extra ones after which two are too few.
    assert 100 - never.calls == 6


def test_too_few_usable_samples_name_the_candidates_that_lack_them() -> None:
    with pytest.raises(TooFewUsableError, match=r"a \(1\); measure on a quieter machine"):
        measure({"a": LateCompiling((2, 3)), "b": one}, extra_rounds=1)


def test_a_loss_that_is_no_number_stops_the_cell_at_once() -> None:
    with pytest.raises(NonFiniteLossError, match="candidate b, warmup round 0: loss by rank nan"):
        measure({"a": one, "b": lambda: float("nan")})
