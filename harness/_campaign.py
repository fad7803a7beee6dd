"""A campaign file (TOML) and its expansion: every combination of workload, model and shape is a cell.

The manifest is that expansion; nothing that decides what is measured stays behind in the file.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import Field, StrictInt

from harness._campaign_rules import check_campaign_rules
from harness._corpus import corpus_digest
from harness._model_spec import model_config
from harness._workload import check_parameters
from harness.model._config import ModelConfig
from schemas import (
    CellIdentity,
    CellPlan,
    FitArguments,
    Gates,
    HoldoutRule,
    InvalidInputError,
    Manifest,
    ModelSpec,
    NotFoundError,
    ParallelShape,
    Protocol,
    Record,
    WorkloadSpec,
)

_SHAPE = re.compile(r"(tp|cp|etp|ep)([0-9]+)")


class _Workload(Record):
    """A named workload: its kind, the family it is judged under, and the kind's parameters beside them."""

    kind: str
    family: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)


class _Model(Record):
    """A named model: a preset, and numbers of it that are set otherwise."""

    preset: str
    parameters: dict[str, Any] = Field(default_factory=dict)


class _Block(Record):
    """Cells: the product of these workloads, models, shapes and groups, in that order."""

    workloads: tuple[str, ...] = Field(min_length=1)
    models: tuple[str, ...] = Field(min_length=1)
    shapes: tuple[str, ...] = Field(min_length=1)
    groups: tuple[StrictInt, ...] = ()
    layouts: tuple[tuple[StrictInt, ...], ...] = ()
    dtype: str | None = None
    device: str = "cpu"


class _CampaignFile(Record):
    """The file as it is written."""

    campaign: str
    title: str = ""
    table_id: str
    protocol: Protocol = Field(default_factory=Protocol)
    holdout: HoldoutRule = Field(default_factory=HoldoutRule)
    fit: FitArguments
    gates: Gates = Field(default_factory=Gates)
    workloads: dict[str, _Workload]
    models: dict[str, _Model]
    cells: tuple[_Block, ...] = Field(min_length=1)


def campaign_names() -> tuple[str, ...]:
    """Names of the campaigns that come with the package."""
    found = (entry.name for entry in (files("harness") / "campaigns").iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))


def load_campaign(name_or_path: str | Path) -> Manifest:
    """The manifest of a shipped campaign, by name, or of a campaign file, by path.

    A file `*.json` is a manifest already, as `layoutledger recipe` writes it; any other is TOML.

    Raises:
        NotFoundError: neither a shipped campaign nor a file; the shipped names are listed.
        InvalidInputError: the file is not what a campaign file should be; names file and field.

    """
    name = str(name_or_path)
    path = Path(name_or_path)
    if name in campaign_names():
        return parse_campaign(
            (files("harness") / "campaigns" / f"{name}.toml").read_text("utf-8"), f"{name}.toml"
        )
    if not path.is_file():
        raise NotFoundError(
            f"no campaign {name!r}: there is no such file, and the shipped campaigns are "
            f"{', '.join(campaign_names())}; name one of these or give the path of a TOML or manifest file"
        )
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"campaign file {path} cannot be read: {error}") from error
    if path.suffix == ".json":
        return _parse_manifest(text, str(path))
    return parse_campaign(text, str(path), folder=path.parent)


def parse_campaign(text: str, where: str, *, folder: Path | None = None) -> Manifest:
    """Expand a campaign file's text; `where` names it in errors, `folder` resolves relative workload paths.

    Raises:
        InvalidInputError: naming `where` and the field.

    """
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInputError(f"{where}: not TOML: {error}") from error
    plan = _CampaignFile.parse(content, where=where)
    models = {name: _model_config(entry, f"{where}: models.{name}") for name, entry in plan.models.items()}
    workloads = {
        name: _workload(entry, f"{where}: workloads.{name}", folder) for name, entry in plan.workloads.items()
    }
    for number, block in enumerate(plan.cells, 1):
        _check_names(block, plan, f"{where}: cells, entry {number}")
    cells = [
        cell
        for number, block in enumerate(plan.cells, 1)
        for cell in _expand(block, plan, workloads, models, f"{where}: cells, entry {number}")
    ]
    manifest = Manifest.parse(
        {
            "campaign": plan.campaign,
            "title": plan.title,
            "table_id": plan.table_id,
            "cells": [cell.plain() for cell in cells],
            **{name: getattr(plan, name).plain() for name in ("protocol", "holdout", "fit", "gates")},
        },
        where=where,
    )
    check_campaign_rules(manifest, where)
    return manifest


def _parse_manifest(text: str, where: str) -> Manifest:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{where}: not JSON: {error}") from error
    manifest = Manifest.parse(content, where=where)
    check_campaign_rules(manifest, where)
    return manifest


def parse_shape(text: str) -> ParallelShape:
    """`tp2cp1`, `tp1cp2ep2` and the like; a size that is not named is 1.

    Raises:
        InvalidInputError: anything else.

    """
    parts = _SHAPE.findall(text)
    names = [name for name, _ in parts]
    written = "".join(name + size for name, size in parts)
    if not parts or written != text or len(set(names)) < len(names):
        raise InvalidInputError(f"shape is {text!r}; write it like tp2cp1, sizes of tp, cp, ep, etp")
    return ParallelShape.parse({name: int(size) for name, size in parts}, where=f"shape {text!r}")


def _model_config(entry: _Model, where: str) -> ModelConfig:
    try:
        return model_config(ModelSpec(preset=entry.preset, parameters=entry.parameters))
    except (InvalidInputError, NotFoundError) as error:
        raise InvalidInputError(f"{where}: {error}") from error


def _workload(entry: _Workload, where: str, folder: Path | None) -> WorkloadSpec:
    """The spec as it goes to the manifest.

    A file is named from its folder, so that any process finds it, and bound by its digest: another file in
    its place is refused when the cell is to run.
    """
    parameters = dict(entry.parameters)
    try:
        check_parameters(entry.kind, parameters)
        if entry.kind == "file" and folder is not None:
            parameters["path"] = str((folder / parameters["path"]).resolve())
            parameters.setdefault("digest", corpus_digest(parameters["path"]))
    except (InvalidInputError, NotFoundError) as error:
        raise type(error)(f"{where}: {error}") from error
    return WorkloadSpec.parse({"kind": entry.kind, "parameters": parameters}, where=where)


def _check_names(block: _Block, plan: _CampaignFile, where: str) -> None:
    for field, there in (("workloads", plan.workloads), ("models", plan.models)):
        unknown = sorted(set(getattr(block, field)) - set(there))
        if unknown:
            raise InvalidInputError(
                f"{where}: {field} names {', '.join(unknown)}; the file defines {', '.join(there) or 'none'}"
            )


def _expand(
    block: _Block,
    plan: _CampaignFile,
    workloads: Mapping[str, WorkloadSpec],
    models: Mapping[str, ModelConfig],
    where: str,
) -> Iterator[CellPlan]:
    for workload in block.workloads:
        for model in block.models:
            config = models[model]
            for shape in block.shapes:
                parallel = _fitting_shape(shape, config, model, where)
                for group in block.groups or (None,):
                    identity = {
                        "workload": workload,
                        "family": plan.workloads[workload].family or workloads[workload].kind,
                        "model": model,
                        "layers": config.layers,
                        "shape": parallel.plain(),
                        "group": group,
                    }
                    yield CellPlan.parse(
                        {
                            "identity": CellIdentity.parse(identity, where=where).plain(),
                            "workload": workloads[workload].plain(),
                            "model": plan.models[model].plain(),
                            "dtype": block.dtype or config.dtype,
                            "device": block.device,
                            "layouts": block.layouts,
                        },
                        where=where,
                    )


def _fitting_shape(text: str, config: ModelConfig, model: str, where: str) -> ParallelShape:
    try:
        shape = parse_shape(text)
        config.require_parallel(tp=shape.tp, cp=shape.cp, ep=shape.ep, etp=shape.etp)
    except InvalidInputError as error:
        raise InvalidInputError(f"{where}: shapes: {model}: {error}") from error
    return shape
