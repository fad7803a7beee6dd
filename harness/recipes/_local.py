"""The runner for one machine: a shell script."""

from collections.abc import Mapping, Sequence

from harness.recipes._shell import cells_array, count_cells, header, prologue
from harness.recipes._topologies import Topology
from schemas import Manifest

_HOW = (
    "    bash local.sh",
    "",
    "LAYOUTLEDGER_STORE names the ledger's folder (./ledger). Where another ledger collects all cells, run",
    "`layoutledger push` after it, with MLFLOW_TRACKING_URI naming the server that both use.",
)


def local_files(manifest: Manifest, topologies: Sequence[Topology]) -> Mapping[str, str]:
    """`local.sh`: every topology in turn."""
    about = count_cells(portion for topology in topologies for portion in topology.portions)
    parts = [
        "#!/usr/bin/env bash\n",
        header(manifest, about, _HOW),
        prologue(manifest, '$(dirname "${BASH_SOURCE[0]}")'),
    ]
    for topology in topologies:
        for number, portion in enumerate(topology.portions):
            parts.append("\n" + cells_array(portion))
            parts.append(f'measure {topology.portion_name(number)} "${{cells[@]}}"\n')
    return {"local.sh": "".join([*parts, '\nexit "$status"\n'])}
