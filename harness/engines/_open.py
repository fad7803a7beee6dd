"""An engine by its name."""

from collections.abc import Iterator
from contextlib import contextmanager

from harness.engines._local import LocalEngine
from harness.engines._protocol import Engine
from schemas import InvalidInputError

ENGINES = ("local", "ray")


@contextmanager
def open_engine(name: str, *, address: str | None = None) -> Iterator[Engine]:
    """The engine of that name, connected while the block runs.

    Args:
        name: one of `ENGINES`.
        address: of a Ray cluster, `HOST:PORT` or `auto`.

    Raises:
        InvalidInputError: an unknown name, or an address for an engine that has none.
        MissingExtraError: the engine's package is not installed.
        MeasurementError: no cluster answers at the address.
    """
    if name == "ray":
        # Loaded only here: it takes seconds, and most campaigns run on one machine.
        from harness.engines._ray import ray_engine

        with ray_engine(address) as engine:
            yield engine
        return
    if name != "local":
        raise InvalidInputError(f"no engine {name!r}; there is {' and '.join(ENGINES)}")
    if address is not None:
        raise InvalidInputError(f"engine {name!r} has no address; leave it out, or choose the engine 'ray'")
    yield LocalEngine()
