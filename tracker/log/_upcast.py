"""Old versions of event types, lifted to the current one when read (design section 4)."""

from collections.abc import Callable, Mapping
from typing import Any

from schemas import Event, InvalidInputError

Upcast = Callable[[dict[str, Any]], dict[str, Any]]

UPCASTS: Mapping[tuple[str, int], Upcast] = {}
"""(type, version) to the function that makes that version's data into the next version's."""


def upcast(event: Event, upcasts: Mapping[tuple[str, int], Upcast] = UPCASTS) -> Event:
    """The event with its data in the type's current version; digest and chain stay those of the line.

    Raises:
        InvalidInputError: the event is newer than this program.

    """
    current = 1 + max((version for name, version in upcasts if name == event.type), default=0)
    if event.version == current:
        return event
    if event.version > current:
        raise InvalidInputError(
            f"event {event.id}: {event.type} version {event.version} is newer than this program knows "
            f"({current}); install a newer layoutledger"
        )
    data = event.data
    for version in range(event.version, current):
        data = upcasts[event.type, version](data)
    return event.model_copy(update={"data": data, "version": current})
