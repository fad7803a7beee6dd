"""A ledger's folder: the log, and what the commands ask of its views."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from schemas import (
    CertifiedCell,
    CertifiedExclusion,
    EvidenceRoot,
    FitCompleted,
    InvalidInputError,
    Manifest,
    NotFoundError,
)
from tracker.log import Log, iter_segment, merkle_root, read_seal

if TYPE_CHECKING:
    from tracker.warehouse import Warehouse


class Ledger:
    """The log is the truth; everything else in the folder can be deleted and is made again.

    Args:
        store: the folder; made on the first write.
    """

    def __init__(self, store: Path) -> None:
        self.store = store
        self.log = Log(store)

    @cached_property
    def warehouse(self) -> "Warehouse":
        """The views over this log; loaded on use, so that what asks none runs without DuckDB."""
        from tracker.warehouse import Warehouse

        return Warehouse(self.store)

    def existing(self) -> Self:
        """Return itself, if there is a ledger in the folder.

        Raises:
            NotFoundError: the folder holds no log.
        """
        if not self.log.folder.is_dir():
            raise NotFoundError(
                f"{self.store}: no ledger here; run `layoutledger quickstart` or "
                "`layoutledger campaign run`, or name its folder with --store"
            )
        return self

    def campaigns(self) -> tuple[str, ...]:
        """Names of the registered campaigns, sorted; none in a folder without a ledger."""
        return self.warehouse.campaigns() if self.log.folder.is_dir() else ()

    def only_campaign(self, name: str | None) -> str:
        """The named campaign, or the ledger's only one.

        Raises:
            NotFoundError: unknown, or none there.
            InvalidInputError: several are there and none was named.
        """
        known = self.existing().campaigns()
        if name is not None:
            if name not in known:
                raise NotFoundError(
                    f"no campaign {name!r} in {self.store}; there is: {', '.join(known) or 'none yet'}"
                )
            return name
        if not known:
            raise NotFoundError(f"{self.store}: no campaign yet; `layoutledger campaign run` registers one")
        if len(known) != 1:
            raise InvalidInputError(
                f"{self.store} holds {len(known)} campaigns, name one: {', '.join(known)}"
            )
        return known[0]

    def manifest(self, campaign: str) -> Manifest:
        """The registered manifest; raises `NotFoundError`."""
        return self.existing().warehouse.manifest(campaign)

    def opened(self, campaign: str) -> str:
        """When the campaign was opened: RFC 3339, UTC."""
        return self.warehouse.opened(campaign)

    def first_sample(self, campaign: str) -> str | None:
        """When its first sample was recorded; None where all evidence is imported."""
        return self.warehouse.first_sample(campaign)

    def evidence_segments(self, campaign: str) -> tuple[str, ...]:
        """Ids of the sealed segments that a fit may stand on, ascending."""
        return self.warehouse.evidence_segments(campaign)

    def require_intact(self, segments: Sequence[str]) -> None:
        """Read those segments again, every line and seal: the views hold what they held when they came.

        Raises:
            CorruptionError: one does not verify; names file and line.
            NotFoundError: one of them is not in the log.
        """
        for segment in segments:
            for _ in iter_segment(self.log.find(segment).path):
                pass

    def evidence(self, segments: Sequence[str]) -> EvidenceRoot:
        """Merkle root over the roots of those segments, ascending by id.

        Raises:
            NotFoundError: one of them is not in the log.
        """
        seals = [read_seal(self.log.find(segment)) for segment in sorted(segments)]
        return EvidenceRoot(
            root=merkle_root([bytes.fromhex(seal.root) for seal in seals]),
            segments=tuple(seal.segment for seal in seals),
            events=sum(seal.count for seal in seals),
        )

    def certified_cells(
        self, campaign: str, segments: Sequence[str] | None = None
    ) -> tuple[CertifiedCell, ...]:
        """The retained cells in key order, as those segments show them, or all."""
        return self.warehouse.certified_cells(campaign, segments)

    def exclusions(
        self, campaign: str, segments: Sequence[str] | None = None
    ) -> tuple[CertifiedExclusion, ...]:
        """The cells taken out, in key order, as those segments show them, or all."""
        return self.warehouse.exclusions(campaign, segments)

    def fits(self, campaign: str) -> tuple[str, ...]:
        """Segment ids of the campaign's fits, oldest first."""
        return tuple(fit for fit, _ in self.warehouse.fits(campaign))

    def latest_fit(self, campaign: str) -> str:
        """Segment id of the campaign's newest fit.

        Raises:
            NotFoundError: the campaign has none.
        """
        fits = self.fits(campaign)
        if not fits:
            raise NotFoundError(f"campaign {campaign} has no fit; run `layoutledger fit {campaign}` first")
        return fits[-1]

    def fit(self, campaign: str, fit: str) -> FitCompleted:
        """The fit of that segment id.

        Raises:
            NotFoundError: the campaign has no such fit; names those it has.
        """
        fits = dict(self.warehouse.fits(campaign))
        if fit not in fits:
            raise NotFoundError(
                f"campaign {campaign} has no fit {fit!r}; it has: {', '.join(fits) or 'none'}"
            )
        return fits[fit]

    def issued_certificates(self, campaign: str | None) -> tuple[tuple[str, str, str], ...]:
        """Campaign, digest and fit of each issued certificate, oldest first; of all campaigns for None."""
        rows = self.existing()._records(
            "SELECT campaign, certificate, fit FROM certificates WHERE issued ORDER BY segment"
        )
        return tuple(
            (row["campaign"], row["certificate"], row["fit"])
            for row in rows
            if campaign is None or row["campaign"] == campaign
        )

    def cell_states(self, campaign: str) -> list[dict[str, Any]]:
        """A record for each expected cell: what became of it, and how its attempt that counts went.

        Raises:
            NotFoundError: no such campaign.
        """
        self.manifest(campaign)
        return [row for row in self._records(_CELL_STATES) if row["campaign"] == campaign]

    def campaign_states(self) -> list[dict[str, Any]]:
        """A record for each campaign: how many of its expected cells are in which state."""
        if not self.log.folder.is_dir():
            return []
        return self._records(
            "SELECT campaign, count(*) AS cells, "
            "count(*) FILTER (state IN ('completed', 'imported')) AS measured, "
            "count(*) FILTER (state = 'failed') AS failed, count(*) FILTER (state = 'excluded') AS excluded, "
            "count(*) FILTER (state IN ('missing', 'running')) AS missing "
            "FROM cells WHERE expected GROUP BY campaign ORDER BY campaign"
        )

    def imported_digests(self, campaign: str) -> tuple[str, ...]:
        """sha256 of the files that were imported into the campaign."""
        rows = self._records(
            "SELECT campaign, data ->> '$.file_digest' AS digest FROM events WHERE type = 'import.recorded'"
        )
        return tuple(row["digest"] for row in rows if row["campaign"] == campaign)

    def _records(self, sql: str) -> list[dict[str, Any]]:
        return self.warehouse.query(sql).records()


_CELL_STATES = """
SELECT cells.*, attempts.stopped, attempts.rounds_saved,
    CAST(coalesce(stalled.samples, 0) AS BIGINT) AS stalled_samples,
    drift.change_pct AS drift_pct, drift.p_value AS drift_p, coalesce(drift.drifting, false) AS drifting
FROM cells
LEFT JOIN attempts ON attempts.campaign = cells.campaign AND attempts.cell = cells.cell
    AND attempts.attempt = cells.attempt
LEFT JOIN attempt_drift AS drift ON drift.campaign = cells.campaign AND drift.cell = cells.cell
    AND drift.attempt = cells.attempt
LEFT JOIN (
    SELECT campaign, cell, attempt, count(*) AS samples FROM stalls WHERE usable
    GROUP BY campaign, cell, attempt
) AS stalled ON stalled.campaign = cells.campaign AND stalled.cell = cells.cell
    AND stalled.attempt = cells.attempt
ORDER BY cells.campaign, cells.position NULLS LAST, cells.cell
"""
