"""The log of one ledger: `log/<campaign>/<segment>.jsonl`, a grow-only set of sealed segments."""

import os
import socket
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ulid import ULID

from schemas import CorruptionError, InvalidInputError, NotFoundError, Source, Unit, digest_file
from tracker.log._disk import Disk, file_chunks
from tracker.log._encoder import LineEncoder
from tracker.log._links import LooseEnds
from tracker.log._names import (
    INCOMING_SUFFIX,
    SEALED_SUFFIX,
    SegmentPath,
    check_campaign,
    check_segment,
    is_campaign_folder,
    is_segment_file,
    segment_path,
)
from tracker.log._reader import verify_foreign
from tracker.log._writer import SYNC_EVENTS, SegmentWriter


class Log:
    """Segments under `root/log`; any number of processes may write, each its own segments.

    Args:
        root: the ledger's folder; may be moved.
        disk: what the log asks of the file system.
        sync_events: how many events that end nothing may come between two fsyncs.

    """

    def __init__(self, root: Path, *, disk: Disk | None = None, sync_events: int = SYNC_EVENTS) -> None:
        self.root = root
        self.folder = root / "log"
        self.disk = disk or Disk()
        self._sync_events = sync_events
        self._ends: dict[str, LooseEnds] = {}

    def open_segment(
        self,
        campaign: str,
        unit: Unit | str,
        subject: Mapping[str, str] | None = None,
        *,
        fields: Mapping[str, Any] | None = None,
    ) -> SegmentWriter:
        """Begin a unit of work; its first event, `segment.opened`, is durable when this returns.

        That event names sealed segments of the campaign that none had named (`LooseEnds`).

        Args:
            campaign: name of the campaign, a folder name.
            unit: what the segment is about.
            subject: what its events are about beside campaign and segment: cell, attempt, fit.
            fields: more for `segment.opened` to carry.

        Raises:
            InvalidInputError: a name that is none, or an unknown unit.
            StoreUnavailableError: the folder cannot be written.

        """
        folder = self.folder / check_campaign(campaign)
        about, kind = {**(subject or {}), "campaign": campaign}, _known_unit(unit).value
        for key, value in about.items():
            _require_text(key, value)
        self.disk.make_folder(folder)
        links = self._ends.setdefault(campaign, LooseEnds(folder)).look()
        # Made after the look, so that ids ascend along the links.
        segment = str(ULID())
        encoder = LineEncoder(this_source(), {**about, "segment": segment})
        opened = {**(fields or {}), "segment": segment, "campaign": campaign, "unit": kind}
        if links:
            opened["follows"] = [link.plain() for link in links]
        return SegmentWriter(folder, encoder, opened, disk=self.disk, sync_events=self._sync_events)

    def campaigns(self) -> tuple[str, ...]:
        """Names of the campaigns that have a folder, sorted."""
        if not self.folder.is_dir():
            return ()
        return tuple(sorted(entry.name for entry in self.folder.iterdir() if is_campaign_folder(entry)))

    def segments(self, campaign: str | None = None) -> tuple[SegmentPath, ...]:
        """Sealed segments by campaign, then by id, which is the order of opening."""
        return tuple(place for place in self._places(campaign) if place.sealed)

    def open_segments(self, campaign: str | None = None) -> tuple[SegmentPath, ...]:
        """Segments without a seal: of live writers, or of dead ones until `recover`."""
        return tuple(place for place in self._places(campaign) if not place.sealed)

    def find(self, segment: str) -> SegmentPath:
        """The sealed segment with this id.

        Raises:
            NotFoundError: the log has none.

        """
        check_segment(segment)
        for campaign in self.campaigns():
            path = self.folder / campaign / f"{segment}{SEALED_SUFFIX}"
            if path.exists():
                return segment_path(path)
        raise NotFoundError(f"{self.folder}: no sealed segment {segment}; `pull` may bring it")

    def adopt(self, path: Path) -> SegmentPath:
        """Take in a sealed segment that another ledger wrote, wherever its file lies; again is no change.

        Raises:
            CorruptionError: it does not verify, or another segment has its id here; nothing changed.
            InvalidInputError: an event is newer than this program.
            StoreUnavailableError: a file or folder cannot be read or written.

        """
        self.disk.make_folder(self.folder)
        # The copy is verified, not the original, which someone may still be changing.
        incoming = self.folder / f"{ULID()}{INCOMING_SUFFIX}"
        handle = None
        try:
            # Locked to the end: else recovery would take the copy for what a crash left.
            handle = self.disk.write_new(incoming, file_chunks(path))
            claimed = verify_foreign(incoming, shown_as=path)
            target = self.folder / claimed.campaign / f"{claimed.segment}{SEALED_SUFFIX}"
            if not target.exists():
                self.disk.make_folder(target.parent)
                self.disk.rename(incoming, target)
            elif digest_file(target) != digest_file(incoming):
                raise CorruptionError(
                    f"{path}: {target} is another segment with the same id; nothing was changed, "
                    "verify both ledgers"
                )
        finally:
            incoming.unlink(missing_ok=True)
            if handle is not None:
                os.close(handle)
        return segment_path(target)

    def _places(self, campaign: str | None) -> list[SegmentPath]:
        names = self.campaigns() if campaign is None else (check_campaign(campaign),)
        found: list[SegmentPath] = []
        for name in names:
            folder = self.folder / name
            if folder.is_dir():
                files = [path for path in folder.iterdir() if is_segment_file(path)]
                found.extend(sorted(segment_path(path) for path in files))
        return found


@cache
def this_source() -> Source:
    """Name the running process as events do."""
    return Source(host=socket.gethostname(), pid=os.getpid(), tool=f"layoutledger {version('layoutledger')}")


def _require_text(key: object, value: object) -> None:
    if not isinstance(key, str) or not isinstance(value, str):
        raise InvalidInputError(f"subject {key!r}: {value!r} is not text; write numbers as text")


def _known_unit(unit: Unit | str) -> Unit:
    try:
        return Unit(unit)
    except ValueError:
        known = ", ".join(known.value for known in Unit)
        raise InvalidInputError(f"unit {str(unit)!r}: expected one of {known}") from None
