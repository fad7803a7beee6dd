"""Fields that the origin project's certificates and calibration records share."""

import re
from typing import Any

from schemas import DeviceClass, Fingerprint, Geometry, InvalidInputError


def art_fingerprint(cell: dict[str, Any], where: str) -> Fingerprint:
    """The execution fingerprint of a cell, in our words; raises `InvalidInputError`, `KeyError`."""
    major, minor = cell["device_capability"]
    return Fingerprint(
        source=str(cell["source"]),
        workload=str(cell["requests_sha256"]),
        device=str(cell["device"]),
        device_class=DeviceClass(
            capability=f"sm_{int(major)}{int(minor)}",
            memory=_memory_bucket(str(cell["device_memory_class"]), where),
        ),
        dtype=str(cell["param_dtype"]).removeprefix("torch."),
        geometry=Geometry.parse(cell["geometry"], where=f"{where}.geometry"),
    )


def _memory_bucket(name: str, where: str) -> Any:
    gigabytes = re.fullmatch(r"hbm-([0-9]+)g", name)
    if gigabytes is None:
        raise InvalidInputError(f"{where}.device_memory_class: {name!r} is not of the form 'hbm-141g'")
    size = int(gigabytes[1])
    return "below-70g" if size < 70 else "70g-to-120g" if size <= 120 else "above-120g"


def campaign_name(text: str) -> str:
    """A campaign name from free text: lower case, everything unusual a dash."""
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-._")[:63] or "imported"
