"""The data of events, read as the record that their type names."""

from collections.abc import Iterable
from typing import TypeVar

from schemas import Event, Record

Payload = TypeVar("Payload", bound=Record)


def payloads(events: Iterable[Event], type_name: str, kind: type[Payload]) -> list[tuple[Event, Payload]]:
    """The events of a type, each with its data read.

    Raises:
        InvalidInputError: an event's data is not what its type says.
    """
    return [
        (event, kind.parse(event.data, where=f"event {event.id} ({event.type})"))
        for event in events
        if event.type == type_name
    ]
