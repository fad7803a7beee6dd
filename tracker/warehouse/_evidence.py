"""What the fit and the certificate read, as records."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from schemas import (
    CertifiedCell,
    CertifiedExclusion,
    Fingerprint,
    FitCompleted,
    IncompleteEvidenceError,
    Manifest,
    NotFoundError,
)

Row = dict[str, Any]

EVIDENCE_UNITS = ("campaign", "attempt", "exclusion", "import")
"""Segments that a fit can stand on."""


@dataclass(frozen=True, slots=True)
class EvidenceReader:
    """The certificate's views of one campaign through an open connection.

    Args:
        connection: to the views; it may show some segments only.
        campaign: its name.

    """

    connection: duckdb.DuckDBPyConnection
    campaign: str

    def manifest(self) -> Manifest:
        """What was registered.

        Raises:
            NotFoundError: no such campaign, or it was never registered; names those that are.

        """
        rows = self._rows("SELECT manifest FROM campaigns WHERE campaign = $campaign")
        if not rows:
            known = [row[0] for row in self.connection.execute("SELECT campaign FROM campaigns").fetchall()]
            raise NotFoundError(
                f"no campaign {self.campaign!r} is registered in this ledger; "
                f"there is: {', '.join(known) or 'none yet'}"
            )
        return Manifest.parse(json.loads(rows[0]["manifest"]), where=f"manifest of {self.campaign}")

    def certified_cells(self) -> tuple[CertifiedCell, ...]:
        """The retained cells in key order, candidates in label order; holdout as registered.

        Raises:
            NotFoundError: no such campaign.
            IncompleteEvidenceError: a mandatory candidate of a counting attempt has no usable sample.

        """
        holds_out = self.manifest().holdout.holds_out
        candidates: dict[str, list[Row]] = {}
        for row in self._rows(
            "SELECT * EXCLUDE (campaign) FROM certificate_candidates WHERE campaign = $campaign"
        ):
            candidates.setdefault(row.pop("cell"), []).append(row)
        self._refuse_unmeasured(candidates)
        cells = self._rows(
            "SELECT cell, identity, facts, fingerprint FROM certificate_cells WHERE campaign = $campaign"
        )
        return tuple(
            CertifiedCell.parse(
                {**row, "held_out": holds_out(row["cell"]), "candidates": candidates.get(row["cell"], [])},
                where=f"campaign {self.campaign}, cell {row['cell']}",
            )
            for row in sorted(cells, key=lambda row: row["cell"])
        )

    def exclusions(self) -> tuple[CertifiedExclusion, ...]:
        """The cells taken out, in key order.

        Raises:
            NotFoundError: no such campaign.

        """
        self.manifest()
        rows = self._rows(
            'SELECT cell, reason, reference, "by" FROM certificate_exclusions WHERE campaign = $campaign'
        )
        return tuple(CertifiedExclusion.parse(row, where=f"exclusion of {row['cell']}") for row in rows)

    def fits(self) -> tuple[tuple[str, FitCompleted], ...]:
        """Segment id and record of each fit, oldest first."""
        rows = self._rows("SELECT fit, result FROM fits WHERE campaign = $campaign ORDER BY fit")
        return tuple((row["fit"], _fit(row)) for row in rows)

    def evidence_segments(self) -> tuple[str, ...]:
        """Ids of the sealed segments that a fit can stand on, ascending."""
        rows = self._rows(
            "SELECT DISTINCT segment FROM _facts WHERE campaign = $campaign AND list_contains($units, unit) "
            "ORDER BY segment",
            units=list(EVIDENCE_UNITS),
        )
        return tuple(row["segment"] for row in rows)

    def attempt_numbers(self) -> dict[str, int]:
        """The highest attempt number of each cell that was tried, of any outcome."""
        rows = self._rows(
            "SELECT cell, max(number) AS number FROM attempts "
            "WHERE campaign = $campaign AND number IS NOT NULL GROUP BY cell ORDER BY cell"
        )
        return {row["cell"]: row["number"] for row in rows}

    def completed_cells(self) -> tuple[str, ...]:
        """Cells with an attempt that counts, imports included, in key order."""
        rows = self._rows("SELECT cell FROM attempts WHERE campaign = $campaign AND counts ORDER BY cell")
        return tuple(row["cell"] for row in rows)

    def fingerprints(self) -> dict[str, tuple[Fingerprint, ...]]:
        """Every fingerprint that a cell's good attempts had, the counting one first."""
        rows = self._rows(
            "SELECT cell, fingerprint FROM attempts WHERE campaign = $campaign "
            "AND state IN ('completed', 'imported') AND fingerprint IS NOT NULL ORDER BY cell, attempt DESC"
        )
        found: dict[str, dict[Fingerprint, None]] = {}
        for row in rows:
            fingerprint = Fingerprint.parse(row["fingerprint"], where=f"fingerprint of {row['cell']}")
            found.setdefault(row["cell"], {})[fingerprint] = None
        return {cell: tuple(items) for cell, items in found.items()}

    def first_sample(self) -> str | None:
        """When the first sample was recorded, RFC 3339; None where there is none."""
        rows = self._rows(f"SELECT {_rfc3339('min(time)')} FROM samples WHERE campaign = $campaign")
        return rows[0]["time"]

    def opened(self) -> str:
        """When the campaign was registered, RFC 3339.

        Raises:
            NotFoundError: no such campaign.

        """
        self.manifest()
        rows = self._rows(f"SELECT {_rfc3339('opened')} FROM campaigns WHERE campaign = $campaign")
        return rows[0]["time"]

    def _refuse_unmeasured(self, candidates: Mapping[str, Sequence[Row]]) -> None:
        empty = [
            f"{cell} {row['label']}"
            for cell, rows in sorted(candidates.items())
            for row in rows
            if not row["n"]
        ]
        if empty:
            raise IncompleteEvidenceError(
                f"campaign {self.campaign}: no usable sample of: {'; '.join(empty)}; "
                "measure these cells again, or exclude them with a reason"
            )

    def _rows(self, sql: str, **more: Any) -> list[Row]:
        result = self.connection.execute(sql, {"campaign": self.campaign, **more})
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def _fit(row: Row) -> FitCompleted:
    return FitCompleted.parse(json.loads(row["result"]), where=f"fit {row['fit']}")


def _rfc3339(expression: str) -> str:
    return f"strftime({expression}, '%Y-%m-%dT%H:%M:%S.%fZ') AS time"
