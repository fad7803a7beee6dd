"""What was measured on: source digest, versions, device, memory, threads, load, frequency, affinity."""

import hashlib
import os
import platform
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from planner import memory_bucket
from schemas import DeviceClass

_PACKAGES = ("layoutledger", "torch", "numpy")
_MEASURING = ("schemas", "planner", "harness")


@cache
def source_digest() -> str:
    """sha256 over every Python file that takes part in measuring, by name and content.

    Samples of different digests never mix, so that a change of the model or the clock is not read as a
    change of the device.
    """
    root = Path(__file__).resolve().parent.parent
    state = hashlib.sha256()
    for package in _MEASURING:
        for path in sorted((root / package).rglob("*.py")):
            state.update(path.relative_to(root).as_posix().encode() + b"\0")
            state.update(hashlib.sha256(path.read_bytes()).digest())
    return state.hexdigest()


def cpu_device_class(cpuinfo: str | None = None) -> DeviceClass:
    """The processor of this machine as a device class; `cpuinfo` stands in for /proc/cpuinfo."""
    facts = _cpu_facts(cpuinfo)
    model = "-".join(facts.get(field, "unknown") for field in ("vendor_id", "cpu family", "model"))
    if "vendor_id" not in facts:
        model = platform.machine() or "unknown"
    return DeviceClass(capability=f"cpu:{model}", memory=memory_bucket(psutil.virtual_memory().total))


def cpu_name(cpuinfo: str | None = None) -> str:
    """The processor's name as its maker writes it."""
    return _cpu_facts(cpuinfo).get("model name") or platform.processor() or platform.machine() or "unknown"


def processors() -> list[int]:
    """The processors that this process may run on; all of them where the system does not say."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 0))


def environment_record(threads_per_rank: int) -> dict[str, Any]:
    """The machine and the software at the start of an attempt, as plain JSON values.

    The load is that of before the attempt: a busy machine can be told from its record.
    """
    memory = psutil.virtual_memory()
    return {
        "source_digest": source_digest(),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in _PACKAGES}},
        "implementation": sys.implementation.name,
        "system": f"{platform.system()} {platform.release()}",
        "device": cpu_name(),
        "cores": os.cpu_count() or 0,
        "affinity": processors(),
        "frequency_mhz": _frequency(),
        "load": [round(value, 2) for value in os.getloadavg()],
        "memory_total_bytes": memory.total,
        "memory_available_bytes": memory.available,
        "threads_per_rank": threads_per_rank,
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _frequency() -> float | None:
    """Megahertz now, or null where the system does not say."""
    try:
        found = psutil.cpu_freq()
    except (OSError, RuntimeError, NotImplementedError):
        return None
    return round(found.current, 1) if found else None


def _cpu_facts(text: str | None) -> dict[str, str]:
    """The first processor's fields in /proc/cpuinfo; empty where there is no such file."""
    if text is None:
        path = Path("/proc/cpuinfo")
        text = path.read_text("utf-8", errors="replace") if path.exists() else ""
    first = text.split("\n\n", 1)[0]
    pairs = (line.split(":", 1) for line in first.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, value in pairs}
