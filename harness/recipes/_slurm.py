"""Runners for Slurm: a batch script for each topology, an array of its portions."""

import math
from collections.abc import Mapping, Sequence

from harness._launch import START_LIMIT_S
from harness.recipes._shell import cells_array, count_cells, header, prologue
from harness.recipes._topologies import Topology
from schemas import Manifest, Protocol

_CELL_SLACK_S = 30.0
_JOB_SLACK_S = 120.0

_TASKS = """
# One task of the array; outside of Slurm all of them, one after another.
for task in ${SLURM_ARRAY_TASK_ID:-$(seq 0 %(last)d)}; do
  case "$task" in
%(branches)s    *)
      echo "no task $task in this array" >&2
      exit 2
      ;;
  esac
  measure "%(name)s-$task" "${cells[@]}"
done

exit "$status"
"""


def slurm_files(
    manifest: Manifest, topologies: Sequence[Topology], accelerator: str | None
) -> Mapping[str, str]:
    """`slurm-<topology>.sbatch` for each: on one node, since the program starts a cell's ranks itself."""
    return {
        f"slurm-{topology.name}.sbatch": _script(manifest, topology, accelerator) for topology in topologies
    }


def time_limit_minutes(protocol: Protocol, cells: int) -> int:
    """Minutes that the runner's own limits can never use up, so that it is the runner that ends a cell."""
    seconds = cells * (START_LIMIT_S + protocol.timeout_s + _CELL_SLACK_S) + _JOB_SLACK_S
    return math.ceil(seconds / 60)


def _script(manifest: Manifest, topology: Topology, accelerator: str | None) -> str:
    file = f"slurm-{topology.name}.sbatch"
    how = (
        f"    sbatch {file}",
        "",
        "In this folder, on a file system that every node sees; partition, account and such go before the",
        "file's name. LAYOUTLEDGER_STORE, a full path, is the ledger's folder (./ledger). After `scancel`:",
        "`layoutledger recover`, then submit again.",
    )
    branches = "".join(
        f"    {number})\n{cells_array(portion, ' ' * 6)}      ;;\n"
        for number, portion in enumerate(topology.portions)
    )
    last = len(topology.portions) - 1
    return "".join(
        [
            "#!/usr/bin/env bash\n",
            header(manifest, count_cells(topology.portions), how),
            *(f"#SBATCH {option}\n" for option in _options(manifest, topology, accelerator)),
            "\n",
            prologue(manifest, "."),
            _TASKS % {"last": last, "branches": branches, "name": topology.name},
        ]
    )


def _options(manifest: Manifest, topology: Topology, accelerator: str | None) -> list[str]:
    ranks = topology.shape.world_size
    longest = max(len(portion) for portion in topology.portions)
    options = [
        f"--job-name={manifest.campaign}.{topology.name}",
        f"--array=0-{len(topology.portions) - 1}",
        "--nodes=1",
        f"--ntasks={ranks}",
        f"--cpus-per-task={manifest.protocol.threads_per_rank}",
        f"--time={time_limit_minutes(manifest.protocol, longest)}",
        "--output=slurm-%x-%a.out",
        "--open-mode=append",
    ]
    if topology.device == "cuda":
        return [*options, f"--gpus={accelerator}:{ranks}" if accelerator else f"--gpus={ranks}"]
    # A neighbour on the processors would be measured too.
    return [*options, "--exclusive", "--mem=0"]
