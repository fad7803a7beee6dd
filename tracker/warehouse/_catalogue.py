"""What the warehouse holds of one campaign: a file beside the Parquet files, replaced atomically."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from tracker.log import crash_point
from tracker.warehouse._columns import LAYOUT
from tracker.warehouse._folder import Folder

CATALOGUE = "catalogue.json"


class StoredSegment(NamedTuple):
    """A projected segment: its lines, the Merkle root it was verified under, its Parquet file's sha256."""

    events: int
    root: str
    digest: str


@dataclass(frozen=True, slots=True)
class Part:
    """A compacted set of segments: sha256 by kind of file."""

    name: str
    level: int
    events: int
    segments: tuple[str, ...]
    digests: dict[str, str]


@dataclass(slots=True)
class Catalogue:
    """The projected segments of a campaign, and which of them stand in parts.

    Args:
        campaign: its name.
        segments: by segment id.
        parts: disjoint sets of those segments; what no part holds is read from its own file.

    """

    campaign: str
    segments: dict[str, StoredSegment] = field(default_factory=dict[str, StoredSegment])
    parts: list[Part] = field(default_factory=list[Part])

    def loose(self) -> list[str]:
        """Segments that are in no part, ascending."""
        held = {segment for part in self.parts for segment in part.segments}
        return sorted(self.segments.keys() - held)

    def forget(self, segments: set[str]) -> None:
        """Leave out segments that the log no longer has, and dissolve the parts that hold them."""
        for segment in segments:
            del self.segments[segment]
        self.parts = [part for part in self.parts if segments.isdisjoint(part.segments)]

    def save(self, folder: Folder) -> None:
        """Write it beside the campaign's files."""
        segments = {key: list(item) for key, item in self.segments.items()}
        parts = [
            {
                "name": part.name,
                "level": part.level,
                "events": part.events,
                "segments": list(part.segments),
                "digests": part.digests,
            }
            for part in self.parts
        ]
        crash_point("catalogue.before")
        folder.write(
            folder.segments(self.campaign) / CATALOGUE,
            orjson.dumps(
                {"layout": LAYOUT, "segments": segments, "parts": parts}, option=orjson.OPT_SORT_KEYS
            ),
        )
        crash_point("catalogue.after")


def load_catalogue(folder: Folder, campaign: str) -> Catalogue:
    """The campaign's catalogue; an empty one where there is none of this layout, so that all is projected."""
    path = folder.segments(campaign) / CATALOGUE
    try:
        found = _parse(campaign, orjson.loads(path.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        found = None
    return found or Catalogue(campaign)


def _parse(campaign: str, plain: dict[str, Any]) -> Catalogue | None:
    if plain["layout"] != LAYOUT:
        return None
    return Catalogue(
        campaign,
        {key: StoredSegment._make(item) for key, item in plain["segments"].items()},
        [_part(item) for item in plain["parts"]],
    )


def _part(plain: dict[str, Any]) -> Part:
    return Part(plain["name"], plain["level"], plain["events"], tuple(plain["segments"]), plain["digests"])
