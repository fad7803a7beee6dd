"""The compile watch: proof that a timed sample compiled nothing (design, section 7; facts on torch.compile).

Two witnesses that fail in different ways: dynamo's callbacks also see lazily compiled backward graphs, but
`torch._dynamo.reset()` silently removes them; dynamo's counters survive that but miss backward compilation.
"""

from dataclasses import dataclass
from typing import Any

from torch._dynamo import callback, utils


@dataclass(frozen=True, slots=True)
class CompileMark:
    """What had been compiled at a point in time: events seen by callback, graphs counted by dynamo."""

    events: int
    graphs: int


class CompileWatch:
    """Counts compilations in this process from the moment it is made; `close` takes the callback away.

    Raises nothing; `since` never counts one compilation as none.
    """

    def __init__(self) -> None:
        self._events = 0
        self._install()

    def _install(self) -> None:
        callback.callback_handler.register_start_callback(self._on_compile)

    def _on_compile(self, _: Any) -> None:
        self._events += 1

    def mark(self) -> CompileMark:
        """The state now; installs the callback again where a dynamo reset removed it."""
        if self._on_compile not in callback.callback_handler.start_callbacks:
            self._install()
        return CompileMark(self._events, _graphs())

    def since(self, mark: CompileMark) -> int:
        """Compilations after the mark: the larger of what the two witnesses saw."""
        return max(self._events - mark.events, abs(_graphs() - mark.graphs))

    def close(self) -> None:
        """Stop watching."""
        if self._on_compile in callback.callback_handler.start_callbacks:
            callback.callback_handler.remove_start_callback(self._on_compile)


def _graphs() -> int:
    """Graphs and backward compilations that dynamo and AOT autograd have counted."""
    return utils.counters["stats"]["unique_graphs"] + utils.counters["aot_autograd"]["total"]
