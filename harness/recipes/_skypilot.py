"""Runners for SkyPilot: a task for each portion of a topology."""

import re
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import yaml

from harness.recipes._shell import cells_array, count_cells, header, prologue
from harness.recipes._topologies import Topology
from schemas import InvalidInputError, Manifest

_VENV = "~/layoutledger-venv"
_SETUP = """\
set -euo pipefail
command -v uv > /dev/null || python3 -m pip install --quiet --user uv
export PATH="$HOME/.local/bin:$PATH"
uv venv --quiet --allow-existing --python '>=3.11' %(venv)s
uv pip install --quiet --python %(venv)s/bin/python %(requirement)s
"""
# The machine goes, and its ledger with it: what was measured is pushed, that of failed cells too.
_PUSH = """
layoutledger push --campaign %(campaign)s 2>&1 | keep push || status=$?
exit "$status"
"""


def skypilot_files(
    manifest: Manifest, topologies: Sequence[Topology], accelerator: str | None, requirement: str | None
) -> Mapping[str, str]:
    """`skypilot-<topology>.yaml` for each portion: one node, a device a rank.

    Args:
        manifest: what is expected.
        topologies: its cells.
        accelerator: SkyPilot's name of the GPU; needed where cells run on one.
        requirement: what pip installs on the machine; this version where omitted.

    Raises:
        InvalidInputError: cells need a GPU and none is named.

    """
    if accelerator is None and any(topology.device == "cuda" for topology in topologies):
        raise InvalidInputError(
            f"campaign {manifest.campaign} has cells for a GPU; say which with --accelerator, as in H200"
        )
    return {
        f"skypilot-{topology.portion_name(number)}.yaml": _task(
            manifest, topology, number, accelerator, requirement
        )
        for topology in topologies
        for number in range(len(topology.portions))
    }


def _task(
    manifest: Manifest, topology: Topology, number: int, accelerator: str | None, requirement: str | None
) -> str:
    name, portion = topology.portion_name(number), topology.portions[number]
    install = shlex.quote(requirement or _this_version(topology.device))
    how = (
        f"    sky jobs launch --env MLFLOW_TRACKING_URI=http://tracking:5000 skypilot-{name}.yaml",
        "",
        "In this folder, which is sent along. What was measured is pushed to the tracking server, from where",
        "`layoutledger pull` takes it into a ledger. The task fails if a cell does.",
    )
    task = {
        "name": _task_name(f"{manifest.campaign}-{name}"),
        "resources": _resources(manifest, topology, accelerator),
        "num_nodes": 1,
        "workdir": ".",
        "envs": {"MLFLOW_TRACKING_URI": None},
        **({"file_mounts": {path: path for path in topology.files}} if topology.files else {}),
        "setup": _SETUP % {"venv": _VENV, "requirement": install},
        "run": "".join(
            [
                f'export PATH="$HOME/{_VENV.removeprefix("~/")}/bin:$PATH"\n',
                prologue(manifest, "."),
                "\n" + cells_array(portion),
                f'measure {name} "${{cells[@]}}"\n',
                _PUSH % {"campaign": shlex.quote(manifest.campaign)},
            ]
        ),
    }
    return header(manifest, count_cells([portion]), how) + "\n" + _yaml(task)


def _resources(manifest: Manifest, topology: Topology, accelerator: str | None) -> dict[str, Any]:
    ranks = topology.shape.world_size
    resources = {"cpus": f"{ranks * manifest.protocol.threads_per_rank}+"}
    return resources | ({"accelerators": f"{accelerator}:{ranks}"} if topology.device == "cuda" else {})


def _this_version(device: str) -> str:
    """Samples of different versions never mix."""
    extra = "gpu" if device == "cuda" else "harness"
    return f"layoutledger[{extra}]=={version('layoutledger')}"


def _task_name(text: str) -> str:
    """SkyPilot takes letters and digits with single separators between them."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")


class _Dumper(yaml.SafeDumper):
    """Writes text of several lines as a block, where YAML can."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # A block would turn any other end of line into a plain one.
    lines = text.splitlines()
    style = "|" if len(lines) > 1 and lines == text.removesuffix("\n").split("\n") else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style if "\n" in text else None)


_Dumper.add_representer(str, _text)


def _yaml(value: Mapping[str, Any]) -> str:
    return yaml.dump(dict(value), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)
