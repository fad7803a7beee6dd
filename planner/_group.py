"""Agreement among the ranks of a process group: the same value everywhere, or the same error everywhere."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from schemas import InvalidInputError, LayoutLedgerError

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Group:
    """What agreement needs of a process group.

    Args:
        rank: this process's place, from 0.
        gather: takes this rank's object and returns every rank's, in rank order; all ranks call it together.
    """

    rank: int
    gather: Callable[[Any], list[Any]]

    @classmethod
    def of(cls, group: Any) -> "Group":
        """Take a ``torch.distributed`` process group, or anything with ``rank`` and ``gather``.

        Raises:
            InvalidInputError: neither.
        """
        if callable(getattr(group, "gather", None)) and isinstance(getattr(group, "rank", None), int):
            return cls(group.rank, group.gather)
        # Whoever has a process group has loaded torch; the planner never does.
        distributed: Any = sys.modules.get("torch.distributed")
        if distributed is None or not isinstance(group, distributed.ProcessGroup):
            raise InvalidInputError(
                f"group: expected a torch.distributed process group or an object with rank and gather, "
                f"got {type(group).__name__}"
            )

        def gather(value: Any) -> list[Any]:
            values: list[Any] = [None] * group.size()
            distributed.all_gather_object(values, value, group=group)
            return values

        return cls(group.rank(), gather)


def agree(group: Group, work: Callable[[], Value], *, only: int | None = None) -> list[Value]:
    """Run work on every rank, or on one, and return the results in rank order on all of them.

    Raises:
        LayoutLedgerError: the first failing rank's error, on every rank.
    """
    result: tuple[bool, Any] | None = None
    if only is None or group.rank == only:
        try:
            result = True, work()
        except LayoutLedgerError as error:
            result = False, error
        except Exception as error:
            # The others wait for this rank: they must learn of any failure.
            result = False, LayoutLedgerError(f"rank {group.rank}: {type(error).__name__}: {error}")
    results = [found for found in group.gather(result) if found is not None]
    for succeeded, found in results:
        if not succeeded:
            raise found
    return [found for _, found in results]
