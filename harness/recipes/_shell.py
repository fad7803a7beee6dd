"""The shell that every runner shares: quoting, the header, and cells measured one portion after another."""

import shlex
from collections.abc import Iterable, Sequence

from schemas import Manifest

MANIFEST_FILE = "manifest.json"
"""The campaign as it is run, beside its runners."""

_MEASURE = """\
status=0
trap 'exit 130' INT
trap 'exit 143' TERM

# A signal ends the program in order; what it then says must still find a reader.
keep() {
  mkdir -p "$here/logs"
  (trap '' INT TERM && exec tee -a "$here/logs/$1.log")
}

# A failure is kept for the end and stops no cell after it; without pipefail it would be lost behind tee.
measure() {
  local name="$1"
  shift
  layoutledger campaign run "$here/%(file)s" --digest %(digest)s "$@" 2>&1 | keep "$name" || status=$?
}
"""


def header(manifest: Manifest, about: str, lines: Sequence[str]) -> str:
    """Comment lines: the campaign, its digest, what this runner measures, and how to run it."""
    title = f"{manifest.campaign}: {manifest.title}" if manifest.title else manifest.campaign
    told = (
        title,
        f"{about} of {len(manifest.cells)}; manifest sha256 {manifest.digest}",
        "Written by `layoutledger recipe`. What is measured already is skipped, so that it may be run again.",
        "",
        *lines,
    )
    return "".join(f"# {_one_line(line)}".rstrip() + "\n" for line in told)


def prologue(manifest: Manifest, here: str) -> str:
    """Strict mode, the folder, and the functions `keep NAME` and `measure NAME ARGUMENTS...`.

    Args:
        manifest: whose cells.
        here: a shell word, already quoted as needed: the folder of the manifest's file.

    """
    measure = _MEASURE % {"file": MANIFEST_FILE, "digest": manifest.digest}
    return f"set -euo pipefail\nhere={here}\n{measure}"


def cells_array(keys: Iterable[str], indent: str = "") -> str:
    """The array `cells` of `--cell KEY` pairs, one a line."""
    body = "".join(f"{indent}  --cell {shlex.quote(key)}\n" for key in keys)
    return f"{indent}cells=(\n{body}{indent})\n"


def count_cells(portions: Iterable[Sequence[str]]) -> str:
    """How many cells, in words."""
    number = sum(len(portion) for portion in portions)
    return f"{number} cell" if number == 1 else f"{number} cells"


def _one_line(text: str) -> str:
    """A line that a comment can hold: no end of line, nothing that hides or reorders text."""
    return "".join(character if character.isprintable() else " " for character in text)
