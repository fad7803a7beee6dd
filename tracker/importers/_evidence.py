"""What every importer brings."""

from dataclasses import dataclass

from schemas import CellFailed, CellImported, ImportRecorded, Manifest


@dataclass(frozen=True, slots=True)
class ImportedEvidence:
    """A campaign's manifest, its cells, and where they came from.

    Args:
        manifest: the campaign to make.
        cells: those whose mandatory candidates were all measured.
        record: of the source.
        failed: cells of the manifest that the source did not measure in full, and why.
    """

    manifest: Manifest
    cells: tuple[CellImported, ...]
    record: ImportRecorded
    failed: tuple[CellFailed, ...] = ()
