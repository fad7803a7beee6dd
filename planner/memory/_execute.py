"""Run an admitted batch: one subforward after another, each checked again before it starts."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from planner.memory._admission import Admission, Subforward
from planner.memory._errors import MemoryBudgetError, PartialExecutionError

Output = TypeVar("Output")


def run_subforwards(
    admission: Admission,
    run: Callable[[Subforward], Output],
    *,
    held_bytes: Callable[[], int] | None = None,
) -> list[Output]:
    """Run every subforward and return what each gave, in their order.

    Args:
        admission: what `admit` returned.
        run: runs one subforward.
        held_bytes: memory in use above what was in use at admission; the predicted retained bytes where
            omitted.

    Raises:
        MemoryBudgetError: what is held leaves no room for the first subforward; nothing ran.
        PartialExecutionError: a later one found no room, or one raised; it says which ran.
    """
    found: list[Output] = []
    predicted = 0
    for index, part in enumerate(admission.subforwards):
        _recheck(admission, index, predicted if held_bytes is None else held_bytes())
        try:
            found.append(run(part))
        except Exception as error:
            raise _partial(admission, index, f"{type(error).__name__}: {error}") from error
        predicted += part.price.retained_bytes
    return found


def execute(
    admission: Admission,
    run: Callable[[Subforward], Sequence[Output]],
    *,
    held_bytes: Callable[[], int] | None = None,
) -> list[Output]:
    """Run every subforward and return the rows' outputs in caller order.

    Args:
        admission: what `admit` returned.
        run: runs one subforward; returns an output for each of its rows, in their order.
        held_bytes: as for `run_subforwards`.

    Raises:
        MemoryBudgetError: what is held leaves no room for the first subforward; nothing ran.
        PartialExecutionError: a later one found no room, one raised, or returned an output too few or too
            many; it says which ran.
    """

    def run_rows(part: Subforward) -> list[tuple[int, Output]]:
        return list(zip(part.rows, run(part), strict=True))

    found = run_subforwards(admission, run_rows, held_bytes=held_bytes)
    outputs = dict(pair for part in found for pair in part)
    return [outputs[row] for row in range(len(outputs))]


def _recheck(admission: Admission, index: int, held: int) -> None:
    """Hold a subforward against the budget that the batch was admitted under, with what is held by now."""
    limit = admission.usable_limit_bytes
    peak = held + admission.subforwards[index].price.required_bytes
    if peak <= limit:
        return
    if index == 0:
        raise MemoryBudgetError(
            peak, limit, f"Since admission {held:,} bytes more are in use: free them, or admit again."
        )
    raise _partial(
        admission,
        index,
        f"{held:,} bytes are held by now and it needs {peak - held:,}, together above the limit of {limit:,}",
    )


def _partial(admission: Admission, index: int, reason: str) -> PartialExecutionError:
    parts = admission.subforwards
    return PartialExecutionError(range(index), index, parts[index].rows, len(parts), reason)
