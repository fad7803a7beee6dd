import pytest

from planner.memory import MemoryBudgetError, PartialExecutionError, admit, execute
from schemas import LayoutLedgerError


@pytest.fixture
def admission(make_rows, plain_pricing, hand_set_choice):
    """Four rows whose tree order is not the caller's, in two subforwards."""
    rows = make_rows([[(1, 7), (2, 3)], [(9, 9), (7, 1)], [(1, 7), (3, 3)], [(9, 9), (8, 1)]])
    found = admit(rows, plain_pricing, 25_000, hand_set_choice)
    assert [part.rows for part in found.subforwards] == [(0, 2), (1, 3)]
    return found


def test_outputs_come_back_in_caller_order(admission):
    assert execute(admission, lambda part: [f"row {row}" for row in part.rows]) == [
        "row 0",
        "row 1",
        "row 2",
        "row 3",
    ]


def test_each_subforward_is_held_against_the_same_budget_again(admission):
    asked = []

    def held():
        asked.append(1)
        return 0

    execute(admission, lambda part: part.rows, held_bytes=held)
    assert len(asked) == 2


def test_a_first_subforward_without_room_is_a_refusal_and_nothing_ran(admission):
    ran = []
    with pytest.raises(MemoryBudgetError, match="nothing ran") as caught:
        execute(admission, ran.append, held_bytes=lambda: 10_000)
    assert not ran
    required = admission.subforwards[0].price.required_bytes
    assert caught.value.predicted_peak_bytes == 10_000 + required
    assert caught.value.usable_limit_bytes == 25_000


def test_a_later_one_without_room_says_which_ran(admission):
    held = iter([0, 19_000])
    ran = []

    def run(part):
        ran.append(part.rows)
        return part.rows

    with pytest.raises(PartialExecutionError, match="Subforwards that ran: 0;") as caught:
        execute(admission, run, held_bytes=lambda: next(held))
    assert ran == [(0, 2)]
    assert (caught.value.ran, caught.value.failed, caught.value.rows) == ((0,), 1, (1, 3))
    assert caught.value.total == 2


def test_a_failure_on_the_way_keeps_its_cause_and_says_which_ran(admission):
    def run(part):
        if part.rows == (1, 3):
            raise RuntimeError("out of memory")
        return part.rows

    with pytest.raises(PartialExecutionError, match="out of memory") as caught:
        execute(admission, run)
    assert isinstance(caught.value, LayoutLedgerError)
    assert caught.value.ran == (0,)
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_outputs_for_too_few_rows_are_a_failure(admission):
    with pytest.raises(PartialExecutionError, match="shorter") as caught:
        execute(admission, lambda part: part.rows[:1])
    assert caught.value.ran == ()
    assert "none" in str(caught.value)
