"""Read calibration records of the origin project (OpenPipe/ART): cells, their samples, notes; JSON lines.

Only the samples are trusted: medians are computed from those that count by this ledger's rule. A cell with a
mandatory candidate that has no usable sample is recorded as failed, so that a fit cannot pass over it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from planner import TERMS
from schemas import (
    AUTOMATIC,
    CellFacts,
    CellFailed,
    CellIdentity,
    CellImported,
    CellPlan,
    Features,
    FitArguments,
    HoldoutRule,
    ImportRecorded,
    InvalidInputError,
    Manifest,
    ModelSpec,
    Protocol,
    WorkloadSpec,
    digest_bytes,
)
from tracker.importers._art_fields import art_fingerprint
from tracker.importers._art_samples import CandidateSamples
from tracker.importers._evidence import ImportedEvidence

SOURCE_FORMAT = "art.calibration.jsonl"
CELL, SAMPLE, NOTE = "calibration_cell", "calibration_sample", "calibration_note"
REPEATED = (
    "requests_sha256", "logical_tokens", "request_count", "gdn_layers", "moe_layers", "uses_gdn", "is_moe",
    "hidden_size", "geometry", "param_dtype", "device", "device_capability", "device_total_memory_bytes",
    "device_memory_class", "source", "driver",
)  # fmt: skip
"""What a sample's row says again of its cell, and must say alike."""


@dataclass(frozen=True, slots=True)
class ImportTerms:
    """What the files do not say and the campaign fixes.

    Args:
        campaign: name of the campaign to make.
        table_id: of the table that it will calibrate.
        holdout: substrings of the keys of held-out cells; at least one cell must stay on each side.
        terms: what a fit may use.
        required: usable samples that a fit asks of each candidate.
    """

    campaign: str
    table_id: str
    holdout: tuple[str, ...]
    terms: tuple[str, ...] = tuple(TERMS)
    required: int = Protocol.model_fields["required"].default


@dataclass(frozen=True, slots=True)
class Line:
    """A record and where it stands."""

    row: dict[str, Any]
    where: str


@dataclass(frozen=True, slots=True)
class SourceCell:
    """A cell's record with the samples that follow it."""

    line: Line
    identity: CellIdentity
    samples: Mapping[str, CandidateSamples]
    notes: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


def read_art_jsonl(files: Sequence[Path], terms: ImportTerms) -> ImportedEvidence:
    """Turn calibration files into a manifest and cells; nothing is written.

    Args:
        files: JSON lines; a cell's samples may lie in another file than the cell.
        terms: what the campaign fixes.

    Raises:
        InvalidInputError: naming file and line: no such record, a field missing or wrong, a sample of an
            unknown cell or candidate or under another fingerprint, one sample twice; or a holdout that
            leaves nothing on one side.
    """
    contents = sorted(((digest_bytes(data := _read(path)), path, data) for path in files), key=lambda c: c[0])
    lines = [line for _, path, data in contents for line in _lines(path, data)]
    cells = _cells([line for line in lines if line.row.get("record_type") == CELL])
    _add_samples(cells, lines)
    manifest = _manifest([cells[key] for key in sorted(cells)], terms)
    judged = [_judged(key, cells[key]) for key in sorted(cells)]
    imported = tuple(cell for cell in judged if isinstance(cell, CellImported))
    digests = {path.name: digest for digest, path, _ in contents}
    record = ImportRecorded(
        source_format=SOURCE_FORMAT,
        file_name=", ".join(path.name for _, path, _ in contents),
        file_digest=_joint_digest([digest for digest, _, _ in contents]),
        cells=len(imported),
        claims={"files": digests, **_claims(cells)},
    )
    return ImportedEvidence(
        manifest, imported, record, tuple(cell for cell in judged if isinstance(cell, CellFailed))
    )


def _joint_digest(digests: Sequence[str]) -> str:
    return digests[0] if len(digests) == 1 else digest_bytes("\n".join(digests).encode())


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInputError(
            f"{path}: cannot be read: {error.strerror or error}; name calibration records"
        ) from error


def _lines(path: Path, data: bytes) -> Iterator[Line]:
    for number, text in enumerate(data.split(b"\n"), start=1):
        if not text.strip():
            continue
        where = f"{path}:{number}"
        try:
            row = json.loads(text)
        except (UnicodeDecodeError, ValueError, RecursionError) as error:
            raise InvalidInputError(f"{where}: not JSON: {error}; mend or take out the line") from error
        kind = cast("dict[str, Any]", row).get("record_type") if isinstance(row, dict) else None
        if kind not in (CELL, SAMPLE, NOTE):
            raise InvalidInputError(f"{where}: record_type is {kind!r}; known: {CELL}, {SAMPLE}, {NOTE}")
        yield Line(cast("dict[str, Any]", row), where)


def _cells(lines: Sequence[Line]) -> dict[str, SourceCell]:
    cells: dict[str, SourceCell] = {}
    for line in lines:
        with _Where(line.where):
            identity = _identity(line)
            labels = [str(candidate["label"]) for candidate in line.row["candidates"]]
            if len(set(labels)) != len(labels) or not set(labels) - {AUTOMATIC}:
                raise InvalidInputError(f"{line.where}: candidates without labels of their own: {labels}")
            found = cells.setdefault(
                identity.key, SourceCell(line, identity, {label: CandidateSamples() for label in labels})
            )
            if found.line.row != line.row:
                raise InvalidInputError(
                    f"{line.where}: cell {identity.key} is told otherwise in {found.line.where}"
                )
    if not cells:
        raise InvalidInputError(f"no {CELL} in the files; are they calibration records?")
    return cells


def _add_samples(cells: Mapping[str, SourceCell], lines: Sequence[Line]) -> None:
    seen: dict[str, str] = {}
    for line in lines:
        if line.row["record_type"] == CELL:
            continue
        with _Where(line.where):
            cell = _cell_of(cells, line)
            text = json.dumps(line.row, sort_keys=True)
            if text in seen:
                raise InvalidInputError(f"{line.where}: the same record as {seen[text]}")
            seen[text] = line.where
            label = str(line.row["candidate_label"])
            if label not in cell.samples:
                known = ", ".join(sorted(cell.samples))
                raise InvalidInputError(
                    f"{line.where}: no candidate {label!r} in its cell; there is: {known}"
                )
            if line.row["record_type"] == SAMPLE:
                cell.samples[label].add(line.row, line.where)
            else:
                cell.notes.append({"candidate": label, "message": str(line.row.get("message", ""))})


def _cell_of(cells: Mapping[str, SourceCell], line: Line) -> SourceCell:
    key = _identity(line).key
    if key not in cells:
        raise InvalidInputError(f"{line.where}: no {CELL} for {key}")
    cell = cells[key]
    for name in REPEATED:
        if name in line.row and line.row[name] != cell.line.row.get(name):
            raise InvalidInputError(
                f"{line.where}: {name} is {line.row[name]!r}, in its cell ({cell.line.where}) "
                f"{cell.line.row.get(name)!r}: samples of different executions never mix"
            )
    return cell


def _identity(line: Line) -> CellIdentity:
    row = line.row
    if int(row.get("dp", 1)) != 1:
        raise InvalidInputError(
            f"{line.where}: dp is {row['dp']}: only cells without data parallelism compare"
        )
    workload: Any = row.get("workload")
    group = cast("dict[str, Any]", workload).get("group") if isinstance(workload, dict) else None
    name = str(row["cell"]).split("|", 1)[0]
    identity = CellIdentity.parse(
        {
            "workload": name,
            "family": name,
            "model": row["model"],
            "layers": row["layers"],
            "shape": {size: row[size] for size in ("tp", "cp", "ep", "etp")},
            "group": group,
        },
        where=line.where,
    )
    if "|" in str(row["cell"]) and identity.key != row["cell"]:
        raise InvalidInputError(
            f"{line.where}: its parts give the key {identity.key!r}, the file says {row['cell']!r}"
        )
    return identity


def _judged(key: str, cell: SourceCell) -> CellImported | CellFailed:
    row, where = cell.line.row, cell.line.where
    with _Where(where):
        features = {
            str(candidate["label"]): Features.parse(
                candidate["features"], where=f"{where}: {candidate['label']}"
            )
            for candidate in row["candidates"]
        }
        facts = {name: row[name] for name in ("tp", "cp", "ep", "etp", "layers", "gdn_layers", "uses_gdn")}
        imported_facts, fingerprint = CellFacts.parse(facts, where=where), art_fingerprint(row, where)
    mandatory = {label: taken for label, taken in cell.samples.items() if label != AUTOMATIC}
    lacking = {label: taken for label, taken in mandatory.items() if not taken.times_ms}
    if lacking:
        reasons = "; ".join(f"{label}: {taken.lacking()}" for label, taken in sorted(lacking.items()))
        return CellFailed(
            cell=key,
            kind="admission_refused" if any(t.counts["refused"] for t in lacking.values()) else "incomplete",
            message=f"no usable sample of {reasons}",
            samples=sum(len(taken.times_ms) for taken in mandatory.values()),
        )
    return CellImported(
        cell=key,
        identity=cell.identity,
        facts=imported_facts,
        fingerprint=fingerprint,
        candidates=tuple(
            taken.aggregate(label, features[label]) for label, taken in sorted(mandatory.items())
        ),
    )


def _manifest(cells: Sequence[SourceCell], terms: ImportTerms) -> Manifest:
    plans = tuple(
        CellPlan(
            identity=cell.identity,
            workload=WorkloadSpec(kind="imported", parameters=_workload(cell)),
            model=ModelSpec(preset=cell.identity.model),
            dtype=str(cell.line.row.get("param_dtype", "")).removeprefix("torch."),
            device="recorded",
        )
        for cell in cells
    )
    manifest = Manifest.parse(
        {
            "campaign": terms.campaign,
            "title": f"Imported calibration records {terms.table_id}",
            "table_id": terms.table_id,
            "cells": plans,
            "protocol": Protocol(required=terms.required),
            "holdout": HoldoutRule(contains=terms.holdout),
            "fit": FitArguments(terms=terms.terms),
        },
        where="import",
    )
    held = len(manifest.holdout_keys())
    if not 0 < held < len(cells):
        raise InvalidInputError(
            f"the holdout {', '.join(terms.holdout) or '(none)'} takes {held} of {len(cells)} cells; a fit "
            f"needs some on each side (--holdout). The cells:\n  " + "\n  ".join(manifest.keys)
        )
    return manifest


def _workload(cell: SourceCell) -> dict[str, Any]:
    workload: Any = cell.line.row.get("workload")
    return cast("dict[str, Any]", workload) if isinstance(workload, dict) else {"name": workload}


def _claims(cells: Mapping[str, SourceCell]) -> dict[str, Any]:
    """What became of every sample, by cell and candidate; the automatic choice's time; notes."""
    automatic = {
        key: cell.samples[AUTOMATIC].times_ms
        for key, cell in sorted(cells.items())
        if AUTOMATIC in cell.samples
    }
    return {
        "samples": {
            key: {label: dict(sorted(taken.counts.items())) for label, taken in sorted(cell.samples.items())}
            for key, cell in sorted(cells.items())
        },
        "automatic_ms": {key: sorted(times) for key, times in automatic.items() if times},
        "refusals": {
            key: {
                label: sorted(taken.messages)
                for label, taken in sorted(cell.samples.items())
                if taken.messages
            }
            for key, cell in sorted(cells.items())
            if any(taken.messages for taken in cell.samples.values())
        },
        "notes": {
            key: sorted(cell.notes, key=lambda note: json.dumps(note, sort_keys=True))
            for key, cell in sorted(cells.items())
            if cell.notes
        },
    }


@dataclass(frozen=True, slots=True)
class _Where:
    """Names the line of what is missing in it."""

    where: str

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if (
            isinstance(error, (KeyError, TypeError, AttributeError, OverflowError))
            or type(error) is ValueError
        ):
            raise InvalidInputError(
                f"{self.where}: not a complete record: {type(error).__name__} {error}"
            ) from error
