"""What trainers tell of the layouts that they ran in production."""

from typing import Annotated

from pydantic import Field

from schemas._base import Record
from schemas._cell import CellFacts
from schemas._event import TIME_PATTERN


class SelectionObserved(Record):
    """A layout that a trainer ran, and the time it saw: forward and backward, milliseconds."""

    candidate: str = Field(description="label of the layout that ran")
    ms: float = Field(ge=0, allow_inf_nan=False)
    at: Annotated[str, Field(pattern=TIME_PATTERN)] | None = Field(
        default=None, description="when it was seen"
    )
    cell: str | None = Field(default=None, description="the calibration cell that the batch is, if any")
    model: str | None = Field(default=None, description="registered model that the version is of")
    version: int | None = Field(default=None, ge=1)
    version_digest: str | None = None
    table_id: str | None = Field(default=None, description="table that scored; `hand-set` for version 1")
    facts: CellFacts | None = None
    decisions: tuple[int, ...] = ()
    packed_tokens: int | None = Field(default=None, ge=1)
    segment_count: int | None = Field(default=None, ge=1)
    max_depth: int | None = Field(default=None, ge=1)
    predicted_us: float | None = Field(
        default=None, ge=0, description="what the version predicts of the layout that ran"
    )
    batch: str | None = Field(default=None, description="sha256 of the batch's prefix tree")
    selected: str | None = Field(
        default=None, description="label of the selected layout, where another was run on purpose"
    )


class SelectionsClosed(Record):
    """What became of a trainer's observations since its last such line; nothing is lost unseen."""

    observed: int = Field(ge=0, description="told by the trainer")
    recorded: int = Field(ge=0, description="in the log")
    dropped: int = Field(ge=0, description="told while the queue was full")
    unwritten: int = Field(ge=0, description="in batches that the disk refused")
    refused: int = Field(ge=0, description="that were no observation: a time that is none")
