"""Runners for an engine, written from the manifest alone: equal manifests give equal files."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from harness.recipes._local import local_files
from harness.recipes._shell import MANIFEST_FILE
from harness.recipes._skypilot import skypilot_files
from harness.recipes._slurm import slurm_files
from harness.recipes._topologies import split_cells
from schemas import InvalidInputError, Manifest

RUNNERS = MappingProxyType({"local": "local.sh", "skypilot": "skypilot-*.yaml", "slurm": "slurm-*.sbatch"})
"""Engine to the names of its runners."""


@dataclass(frozen=True, slots=True)
class RecipeOptions:
    """What the manifest does not say.

    Args:
        cells_per_job: the most cells of a job; all of a topology where omitted.
        accelerator: the scheduler's name of the GPU: `H200`.
        requirement: what pip installs where the machine is fresh; this version where omitted.

    """

    cells_per_job: int | None = None
    accelerator: str | None = None
    requirement: str | None = None


def write_recipe(manifest: Manifest, engine: str, options: RecipeOptions | None = None) -> dict[str, str]:
    """The texts of the manifest's file and of the engine's runners, by file name.

    Raises:
        InvalidInputError: an unknown engine, a cell that it cannot run, a GPU that is not named.

    """
    chosen = options or RecipeOptions()
    topologies = split_cells(manifest, chosen.cells_per_job)
    runners: Mapping[str, str]
    if engine == "local":
        runners = local_files(manifest, topologies)
    elif engine == "slurm":
        runners = slurm_files(manifest, topologies, chosen.accelerator)
    elif engine == "skypilot":
        runners = skypilot_files(manifest, topologies, chosen.accelerator, chosen.requirement)
    else:
        raise InvalidInputError(f"no engine {engine!r}; there is {', '.join(RUNNERS)}")
    text = json.dumps(manifest.plain(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    return {MANIFEST_FILE: text, **runners}
