"""Python, the packages against their ranges, PyTorch: imports, threads, back ends, accelerators."""

import json
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from typing import Any

from tracker.doctor._finding import Finding

PART = "versions"
TORCH = "torch"
TORCH_PATIENCE_S = 120.0
DEVELOPMENT = ("dev",)
_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)(\[[^]]*\])?\s*(?P<ranges>[^;]*)(;\s*extra == ['\"](?P<extra>[^'\"]+)['\"])?\Z"
)
_RANGE = re.compile(r"\s*(?P<how>>=|<=|==|!=|>|<)\s*(?P<version>[0-9][0-9A-Za-z.+!-]*)\s*\Z")


def software_checks() -> tuple[Callable[[], Iterator[Finding]], ...]:
    """What is looked at of the software."""
    return (
        check_python,
        lambda: check_packages(requires("layoutledger") or ()),
        lambda: check_torch(torch_report()),
    )


def check_python() -> Iterator[Finding]:
    """The interpreter against the distribution's range."""
    here, wanted = platform.python_version(), metadata("layoutledger")["Requires-Python"] or ""
    if within(here, wanted):
        yield Finding(PART, "ok", f"Python {here} ({wanted})")
    else:
        yield Finding(PART, "broken", f"Python {here}, supported is {wanted}", "use a supported interpreter")


def check_packages(requirements: Sequence[str]) -> Iterator[Finding]:
    """Each package against its range; what only an extra needs may be absent.

    Args:
        requirements: as the distribution's metadata spells them.
    """
    fine: list[str] = []
    absent: dict[str, list[str]] = {}
    for text in requirements:
        match = _REQUIREMENT.match(text.strip())
        if match is None or match["name"] == "layoutledger" or match["extra"] in DEVELOPMENT:
            continue
        name, ranges, extra = match["name"], match["ranges"].strip(" ()"), match["extra"]
        try:
            here = version(name)
        except PackageNotFoundError:
            absent.setdefault(extra or "", []).append(name)
            continue
        if within(here, ranges):
            fine.append(f"{name} {here}")
        else:
            state = "warning" if extra else "broken"
            remedy = f"pip install '{name}{ranges}'"
            yield Finding(PART, state, f"{name} {here}, supported is {ranges}", remedy)
    for extra, names in absent.items():
        found = f"not installed: {', '.join(names)}"
        if extra:
            yield Finding(PART, "note", found, f"pip install 'layoutledger[{extra}]', if you need it")
        else:
            yield Finding(PART, "broken", found, "pip install layoutledger")
    yield Finding(PART, "ok", ", ".join(fine))


def within(found: str, ranges: str) -> bool:
    """Whether a version lies in ranges such as `>=2.1,<3`; a pre-release counts as its release."""
    for part in filter(str.strip, ranges.split(",")):
        match = _RANGE.match(part)
        if match is None:
            continue
        here, limit = _release(found), _release(match["version"])
        width = max(len(here), len(limit))
        left, right = here + (0,) * (width - len(here)), limit + (0,) * (width - len(limit))
        fits = {
            ">=": left >= right,
            "<=": left <= right,
            "==": left == right,
            "!=": left != right,
            ">": left > right,
            "<": left < right,
        }
        if not fits[match["how"]]:
            return False
    return True


def _release(text: str) -> tuple[int, ...]:
    found = re.match(r"[0-9]+(\.[0-9]+)*", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def torch_report() -> dict[str, Any]:
    """What PyTorch says of itself, asked in a process of its own: a broken one may end its process."""
    command = [sys.executable, "-m", "harness._torch_report"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TORCH_PATIENCE_S)
    except subprocess.TimeoutExpired:
        return {"error": f"importing it takes more than {TORCH_PATIENCE_S:g} s"}
    try:
        return dict(json.loads(done.stdout.splitlines()[-1]))
    except (ValueError, IndexError):
        tail = done.stderr.strip().splitlines()[-1:] or ["no output"]
        return {"error": f"its process ended with {done.returncode}: {tail[0]}"}


def check_torch(report: dict[str, Any]) -> Iterator[Finding]:
    """What the report says: it imports, its threads and back ends; each accelerator.

    Args:
        report: of `harness._torch_report`; `error` where none could be made, `absent` where there is none.
    """
    if "absent" in report:
        remedy = "pip install 'layoutledger[harness]', if you want to measure here"
        yield Finding(TORCH, "note", "not installed: nothing can be measured here", remedy)
        return
    if "error" in report:
        remedy = "install it again (pip install --force-reinstall torch); planning and fitting go without"
        yield Finding(TORCH, "broken", f"does not import: {report['error']}", remedy)
        return
    backends = ", ".join(report["backends"]) or "none"
    yield Finding(
        TORCH, "ok", f"{report['version']}: imports, {report['threads']} threads; distributed: {backends}"
    )
    if "gloo" not in report["backends"]:
        remedy = "install a build of PyTorch with gloo: cells of more than one rank need it"
        yield Finding(TORCH, "broken", "no gloo back end", remedy)
    if not report["devices"]:
        yield Finding("devices", "note", "no GPU: cells run on the processor")
    for device in report["devices"]:
        gib = device["memory_bytes"] / 2**30
        found = f"{device['name']}, sm_{device['capability']}, {gib:.0f} GiB"
        yield Finding("devices", "ok", found)
    if report["devices"] and "nccl" not in report["backends"]:
        yield Finding("devices", "broken", "GPUs, but no nccl back end", "install a CUDA build of PyTorch")
