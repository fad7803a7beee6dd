"""Read a calibration certificate of the origin project (OpenPipe/ART, certificate schema v1)."""

import json
from pathlib import Path
from typing import Any, cast

from schemas import (
    CellFacts,
    CellIdentity,
    CellImported,
    CellPlan,
    FitArguments,
    HoldoutRule,
    ImportedCandidate,
    ImportRecorded,
    InvalidInputError,
    Manifest,
    ModelSpec,
    ParallelShape,
    Protocol,
    WorkloadSpec,
    digest_bytes,
    table_digest,
)
from tracker.importers._art_fields import art_fingerprint, campaign_name
from tracker.importers._evidence import ImportedEvidence

SOURCE_FORMAT = "art.dev.trainer_rank_cost_calibration_certificate.v1"
ALWAYS_HELD_OUT_ODD_GROUPS = ("cal-ellavox",)


def read_art_certificate(path: Path, *, campaign: str | None = None) -> ImportedEvidence:
    """Turn a certificate file into a manifest and imported cells; nothing is written.

    Args:
        path: the JSON file.
        campaign: name of the campaign to make; the file's table id where omitted.

    Raises:
        InvalidInputError: not readable, another schema, a field missing, a digest that does not match.
    """
    data, content = _load(path)
    where = str(path)
    try:
        _check_digest(content, where)
        cells = tuple(_cell(cell, where=f"{where}: cells[{i}]") for i, cell in enumerate(content["cells"]))
        manifest = _manifest(content, cells, campaign, where)
        _check_expected(content, cells, where)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise InvalidInputError(
            f"{where}: not a complete {SOURCE_FORMAT} certificate: {type(error).__name__} {error}"
        ) from error
    claims = {key: content[key] for key in ("integer_table_milli_us", "integer_table_sha256", "metrics")}
    record = ImportRecorded(
        source_format=SOURCE_FORMAT,
        file_name=path.name,
        file_digest=digest_bytes(data),
        cells=len(cells),
        claims=claims,
    )
    return ImportedEvidence(manifest, cells, record)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _load(path: Path) -> tuple[bytes, dict[str, Any]]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInputError(
            f"{path}: cannot be read: {error.strerror or error}; name a certificate"
        ) from error
    try:
        content = json.loads(data, parse_constant=_no_number)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"{path}: not JSON: {error}; name the file as that project wrote it"
        ) from error
    if not isinstance(content, dict):
        raise InvalidInputError(
            f"{path}: not a certificate: the file holds no JSON object; "
            "name the file as that project wrote it"
        )
    found = cast("dict[str, Any]", content)
    if found.get("schema") != SOURCE_FORMAT:
        raise InvalidInputError(
            f"{path}: schema is {found.get('schema')!r}, expected {SOURCE_FORMAT!r}; is it the right file?"
        )
    return data, found


def _check_digest(content: dict[str, Any], where: str) -> None:
    found = table_digest(content["integer_table_milli_us"])
    if found != content["integer_table_sha256"]:
        raise InvalidInputError(
            f"{where}: integer_table_sha256 is {content['integer_table_sha256']}, "
            f"but the table in the file gives {found}; the file was changed or damaged"
        )


def _check_expected(content: dict[str, Any], cells: tuple[CellImported, ...], where: str) -> None:
    manifest = cast("dict[str, Any]", content.get("manifest") or {})
    expected = set(cast("list[str]", manifest.get("expected") or []))
    present = {cell.cell for cell in cells}
    if expected and expected != present:
        raise InvalidInputError(
            f"{where}: the manifest and the cells differ: missing {sorted(expected - present)}, "
            f"unexpected {sorted(present - expected)}"
        )


def _manifest(
    content: dict[str, Any], cells: tuple[CellImported, ...], campaign: str | None, where: str
) -> Manifest:
    arguments = content["fit_arguments"]
    holdout = tuple(part for part in str(arguments["holdout"]).split(",") if part)
    workloads = {str(cell["cell"]): dict(cell.get("workload") or {}) for cell in content["cells"]}
    content_of_ours = {
        "campaign": campaign or campaign_name(content["table_id"]),
        "title": f"Imported calibration evidence {content['table_id']}",
        "table_id": content["table_id"],
        "cells": tuple(
            CellPlan(
                identity=cell.identity,
                workload=WorkloadSpec(kind="imported", parameters=workloads[cell.cell]),
                model=ModelSpec(preset=cell.identity.model),
                dtype=cell.fingerprint.dtype,
                device="recorded",
            )
            for cell in cells
        ),
        "protocol": Protocol(required=max(1, int(arguments["require_complete"]))),
        "holdout": HoldoutRule(contains=holdout, odd_groups_of=ALWAYS_HELD_OUT_ODD_GROUPS),
        "fit": FitArguments(
            method="nnls-regret" if arguments["objective"] == "regret" else "nnls",
            terms=tuple(arguments["terms"]),
        ),
    }
    return Manifest.parse(content_of_ours, where=where)


def _cell(cell: dict[str, Any], *, where: str) -> CellImported:
    key = str(cell["cell"])
    shape = ParallelShape.parse(
        dict(zip(("tp", "cp", "ep", "etp"), cell["shape"], strict=True)), where=f"{where}.shape"
    )
    facts = {name: int(value) for name, value in cell["facts"].items()}
    identity = CellIdentity(
        workload=key.split("|", 1)[0],
        family=key.split("|", 1)[0],
        model=str(cell["model"]),
        layers=facts["layers"],
        shape=shape,
        group=cast("dict[str, Any]", cell.get("workload") or {}).get("group"),
    )
    if identity.key != key:
        raise InvalidInputError(f"{where}: its parts give the key {identity.key!r}, the file says {key!r}")
    return CellImported(
        cell=key,
        identity=identity,
        facts=CellFacts.parse(facts | {"uses_gdn": bool(facts["uses_gdn"])}, where=f"{where}.facts"),
        fingerprint=art_fingerprint(cell, where),
        candidates=tuple(
            ImportedCandidate.parse(candidate, where=f"{where}.candidates[{i}]")
            for i, candidate in enumerate(cell["candidates"])
        ),
    )
