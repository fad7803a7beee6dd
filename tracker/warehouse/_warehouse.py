"""The warehouse of a ledger: SQL over the verified lines of its log (design section 5)."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

import duckdb

from schemas import CertifiedCell, CertifiedExclusion, Fingerprint, FitCompleted, Manifest
from tracker.log import Finding, Log
from tracker.warehouse._connect import open_views
from tracker.warehouse._evidence import EvidenceReader
from tracker.warehouse._folder import Folder
from tracker.warehouse._query import QueryResult, run_query
from tracker.warehouse._refresh import Refreshed, rebuild_warehouse, refresh_warehouse
from tracker.warehouse._verify import compare_warehouse, require_whole, verify_warehouse


class Warehouse:
    """One Parquet file per sealed segment, and views over them; can be deleted at any time and is made again.

    Every reading method first takes in what the log has since; see `refresh` for what that can raise.

    Args:
        store: the ledger's folder; it may be moved.

    """

    def __init__(self, store: Path) -> None:
        self.store = store
        self.log = Log(store)
        self.folder = Folder(store)

    def refresh(self) -> Refreshed:
        """Project the sealed segments that are new; without any, nothing is written.

        Raises:
            CorruptionError: a new segment does not verify, or a Parquet file that has to be read again was
                changed; the views are as before.
            InvalidInputError: a new segment holds a payload that is not what its type says.
            StoreUnavailableError: the folder cannot be read or written.

        """
        return refresh_warehouse(self.log, self.folder)

    def rebuild(self) -> Refreshed:
        """Make everything again from the log alone; raises what `refresh` raises."""
        return rebuild_warehouse(self.log, self.folder)

    def verify(self) -> list[Finding]:
        """What was changed since it was written from the log, by digests; refreshes nothing."""
        return verify_warehouse(self.log, self.folder)

    def compare_with_log(self) -> list[Finding]:
        """What differs from the log, by contents: also where digests were changed to match."""
        return compare_warehouse(self.log, self.folder)

    def query(self, sql: str, *, allow_files: bool = False) -> QueryResult:
        """Run one reading SQL statement over the views.

        Args:
            sql: the statement.
            allow_files: let it read and write other files too; otherwise neither files nor the network.

        Raises:
            InvalidInputError: it is not one reading statement, or DuckDB refuses it.

        """
        self.refresh()
        return run_query(self.folder, sql, allow_files=allow_files)

    @contextmanager
    def connect(self, segments: Iterable[str] | None = None) -> Generator[duckdb.DuckDBPyConnection]:
        """A connection to the views that can only read them.

        Args:
            segments: show these segments only.

        """
        self.refresh()
        with open_views(self.folder, segments=segments) as connection:
            yield connection

    @contextmanager
    def evidence(self, campaign: str, segments: Iterable[str] | None = None) -> Generator[EvidenceReader]:
        """Several readings of one campaign through one connection; see `connect`."""
        with self.connect(segments) as connection:
            yield EvidenceReader(connection, campaign)

    def campaigns(self) -> tuple[str, ...]:
        """Names of the registered campaigns, sorted."""
        with self.connect() as connection:
            rows = connection.execute("SELECT campaign FROM campaigns ORDER BY campaign").fetchall()
        return tuple(row[0] for row in rows)

    def manifest(self, campaign: str) -> Manifest:
        """The registered manifest; raises `NotFoundError`."""
        with self.evidence(campaign) as reader:
            return reader.manifest()

    def certified_cells(
        self, campaign: str, segments: Iterable[str] | None = None
    ) -> tuple[CertifiedCell, ...]:
        """The retained cells in key order, of those segments only where given.

        Raises:
            NotFoundError: no such campaign.
            IncompleteEvidenceError: a candidate of a counting attempt has no usable sample.
            CorruptionError: a Parquet file is not the one that was written from the log.

        """
        with self.evidence(campaign, segments) as reader:
            require_whole(self.folder, campaign)
            return reader.certified_cells()

    def exclusions(
        self, campaign: str, segments: Iterable[str] | None = None
    ) -> tuple[CertifiedExclusion, ...]:
        """The cells taken out, in key order; raises `NotFoundError`."""
        with self.evidence(campaign, segments) as reader:
            return reader.exclusions()

    def evidence_segments(self, campaign: str) -> tuple[str, ...]:
        """Ids of the sealed segments that a fit can stand on, ascending."""
        with self.evidence(campaign) as reader:
            return reader.evidence_segments()

    def fits(self, campaign: str) -> tuple[tuple[str, FitCompleted], ...]:
        """Segment id and record of each fit, oldest first."""
        with self.evidence(campaign) as reader:
            return reader.fits()

    def attempt_numbers(self, campaign: str) -> dict[str, int]:
        """The highest attempt number of each cell that was tried, of any outcome."""
        with self.evidence(campaign) as reader:
            return reader.attempt_numbers()

    def completed_cells(self, campaign: str) -> tuple[str, ...]:
        """Cells with an attempt that counts, imports included, in key order."""
        with self.evidence(campaign) as reader:
            return reader.completed_cells()

    def fingerprints(self, campaign: str) -> dict[str, tuple[Fingerprint, ...]]:
        """Every fingerprint that a cell's good attempts had, the counting one first."""
        with self.evidence(campaign) as reader:
            return reader.fingerprints()

    def opened(self, campaign: str) -> str:
        """When the campaign was registered: RFC 3339, UTC; raises `NotFoundError`."""
        with self.evidence(campaign) as reader:
            return reader.opened()

    def first_sample(self, campaign: str) -> str | None:
        """When its first sample was recorded: RFC 3339, UTC; None where all evidence is imported."""
        with self.evidence(campaign) as reader:
            return reader.first_sample()
