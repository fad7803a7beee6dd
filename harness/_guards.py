"""The compile watch: proof that a timed sample compiled nothing (design, section 7; facts on torch.compile).

Two witnesses that fail in different ways: dynamo's callbacks also see lazily compiled backward graphs, but
`torch._dynamo.reset()` silently removes them; dynamo's counters survive that but miss backward compilation.
Where nothing has loaded dynamo, nothing has compiled: the watch does not load it, which takes seconds a rank.
"""

import sys
from dataclasses import dataclass
from typing import Any


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
        self._listen()

    def _listen(self) -> None:
        handler = _handler()
        if handler is not None and self._on_compile not in handler.start_callbacks:
            handler.register_start_callback(self._on_compile)

    def _on_compile(self, _: Any) -> None:
        self._events += 1

    def mark(self) -> CompileMark:
        """The state now; listens from now on where dynamo was loaded, or reset, since the last mark."""
        self._listen()
        return CompileMark(self._events, _graphs())

    def since(self, mark: CompileMark) -> int:
        """Compilations after the mark: the larger of what the two witnesses saw."""
        return max(self._events - mark.events, abs(_graphs() - mark.graphs))

    def close(self) -> None:
        """Stop watching."""
        handler = _handler()
        if handler is not None and self._on_compile in handler.start_callbacks:
            handler.remove_start_callback(self._on_compile)


def _handler() -> Any:
    """Dynamo's keeper of callbacks, or None where dynamo is not loaded."""
    return getattr(sys.modules.get("torch._dynamo.callback"), "callback_handler", None)


def _graphs() -> int:
    """Graphs and backward compilations that dynamo and AOT autograd have counted; they start from 0."""
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None)
    if counters is None:
        return 0
    return counters["stats"]["unique_graphs"] + counters["aot_autograd"]["total"]
