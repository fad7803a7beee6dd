"""The cells that runners measure, read through the grammars of the shell, of YAML and of `#SBATCH` lines.

So that a runner, edited by hand or not, can be compared with the manifest that it was written from.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import yaml

from schemas import InvalidInputError, Manifest

_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?")


@dataclass(frozen=True, slots=True)
class RecipeCells:
    """What runners measure: keys of cells, as often as they are named, and the digests that they ask for."""

    cells: tuple[str, ...]
    digests: frozenset[str]

    def differences(self, manifest: Manifest) -> tuple[str, ...]:
        """Every way in which this is not exactly the manifest; empty where it is."""
        found = [f"not measured: {key}" for key in manifest.keys if key not in self.cells]
        expected = frozenset(manifest.keys)
        found += [f"not in the campaign: {key}" for key in dict.fromkeys(self.cells) if key not in expected]
        found += [
            f"measured {self.cells.count(key)} times: {key}"
            for key in manifest.keys
            if self.cells.count(key) > 1
        ]
        found += [f"of another manifest: {digest}" for digest in sorted(self.digests - {manifest.digest})]
        return tuple(found)


def read_recipe(files: Mapping[str, str]) -> RecipeCells:
    """The cells of these runners, in the order of the files.

    Args:
        files: texts by name: `*.sh`, `*.yaml` (SkyPilot), `*.sbatch` (Slurm).

    Raises:
        InvalidInputError: a text that is not of its name's grammar; names the file.

    """
    cells: list[str] = []
    digests: set[str] = set()
    for name, text in files.items():
        words, counted = _read(name, text)
        cells += counted
        digests |= set(_after("--digest", words))
    return RecipeCells(tuple(cells), frozenset(digests))


def _read(name: str, text: str) -> tuple[list[str], list[str]]:
    """The file's shell words, and the cells that it measures."""
    words = _words(name, _run_section(name, text) if name.endswith(".yaml") else text)
    if not name.endswith(".sbatch"):
        return words, list(_after("--cell", words))
    tasks = _array(name, text)
    return words, [key for task, key in _branches(words) if tasks is None or task in tasks]


def _words(name: str, text: str) -> list[str]:
    """Shell words, quotes taken off; operators are words of their own, `--cell=KEY` is two."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    try:
        for word in lexer:
            option, equals, value = word.partition("=")
            words += [option, value] if equals and option in ("--cell", "--digest") else [word]
    except ValueError as error:
        raise InvalidInputError(f"{name}: not a shell script: {error}") from error
    return words


def _after(option: str, words: list[str]) -> Iterator[str]:
    return (value for word, value in pairwise(words) if word == option)


def _run_section(name: str, text: str) -> str:
    try:
        task: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidInputError(f"{name}: not YAML: {error}") from error
    run = task.get("run") if isinstance(task, dict) else None
    if not isinstance(run, str):
        raise InvalidInputError(f"{name}: no SkyPilot task: it has no text under `run`")
    return run


def _branches(words: list[str]) -> Iterator[tuple[str, str]]:
    """Each cell with the label of the `case` branch that it stands in: a word before an unpaired `)`."""
    depth, label = 0, ""
    for before, word in pairwise(words):
        if word == "(":
            depth += 1
        elif word == ")" and depth:
            depth -= 1
        elif word == ")":
            label = before
        elif before == "--cell":
            yield label, word


def _array(name: str, text: str) -> frozenset[str] | None:
    """The tasks that `#SBATCH --array` starts; None where it is no array, and every task runs.

    Slurm reads such lines up to the first that is no comment.
    """
    values: list[str] = []
    for line in text.split("\n"):
        if line.startswith("#SBATCH"):
            options = shlex.split(line.removeprefix("#SBATCH"), comments=True)
            values += [option.partition("=")[2] for option in options if option.startswith("--array=")]
        elif line.strip() and not line.startswith("#"):
            break
    if not values:
        return None
    tasks: set[str] = set()
    for part in values[-1].partition("%")[0].split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise InvalidInputError(f"{name}: --array={values[-1]}: write it as 0-7 or 0,3,5")
        tasks |= {str(task) for task in range(int(match[1]), int(match[2] or match[1]) + 1)}
    return frozenset(tasks)
