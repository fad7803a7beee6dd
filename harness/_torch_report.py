"""What PyTorch says of itself, as one JSON line: run as a program, since a broken one may end its process."""

import json
from importlib.util import find_spec
from typing import Any


def torch_report() -> dict[str, Any]:
    """Version, threads, back ends of `torch.distributed`, GPUs; `absent` where it is not installed."""
    if find_spec("torch") is None:
        return {"absent": True}
    try:
        import torch
        import torch.distributed as distributed
    except Exception as error:  # Whatever keeps it from loading is the report.
        return {"error": f"{type(error).__name__}: {error}"}
    there = {"gloo": distributed.is_gloo_available, "nccl": distributed.is_nccl_available}
    usable = distributed.is_available()
    return {
        "version": str(torch.__version__),
        "threads": torch.get_num_threads(),
        "backends": [name for name, available in there.items() if usable and available()],
        "devices": [
            {
                "name": properties.name,
                "capability": f"{properties.major}{properties.minor}",
                "memory_bytes": properties.total_memory,
            }
            for properties in map(torch.cuda.get_device_properties, range(torch.cuda.device_count()))
        ],
    }


if __name__ == "__main__":
    print(json.dumps(torch_report()))
