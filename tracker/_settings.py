"""Settings and where each comes from: command line, environment, project file, user file, default.

A file is TOML with the names below. Files are read by the command line alone: a training process that loads
the planner is told by the environment.
"""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas import InvalidInputError

PROJECT_FILE = "layoutledger.toml"
USER_FILE = Path("layoutledger", "config.toml")


@dataclass(frozen=True, slots=True)
class Name:
    """A setting that there is.

    Args:
        variable: the environment variable that says the same.
        default: what holds where nothing is said, in words or as a value.
        help: what it is for.
        path: whether a relative value in a file is meant from the file's folder.
    """

    variable: str
    default: str
    help: str
    path: bool = False


NAMES: Mapping[str, Name] = {
    "store": Name("LAYOUTLEDGER_STORE", "ledger", "The ledger's folder.", path=True),
    "tracking_uri": Name(
        "MLFLOW_TRACKING_URI", "(the store inside the ledger)", "The MLflow server to mirror to."
    ),
    "by": Name("LAYOUTLEDGER_BY", "(the login name)", "Who excludes, reviews, holds and promotes."),
    "cache": Name(
        "LAYOUTLEDGER_CACHE",
        "(the user's cache folder)",
        "Where the planner keeps resolved versions.",
        path=True,
    ),
    "http_timeout_s": Name(
        "MLFLOW_HTTP_REQUEST_TIMEOUT", "10", "Seconds that a tracking server has for an answer."
    ),
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as it holds.

    Args:
        name: of `NAMES`.
        value: as the environment variable would say it; the default in words where nothing is said.
        source: `command line`, the variable's name, the file's path, or `default`.
    """

    name: str
    value: str
    source: str

    @property
    def said(self) -> bool:
        """Whether anyone said it."""
        return self.source != "default"


def settings_files(folder: Path, environ: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """The files that hold, the stronger first: the nearest project file, then the user's."""
    here = folder.absolute()
    project = (place / PROJECT_FILE for place in (here, *here.parents))
    nearest = next((path for path in project if path.is_file()), None)
    base = environ.get("XDG_CONFIG_HOME", "").strip()
    home = environ.get("HOME", "").strip()
    root = Path(base) if base else Path(home, ".config") if home else None
    user = root / USER_FILE if root else None
    return tuple(path for path in (nearest, user) if path is not None and path.is_file())


def read_settings(folder: Path, environ: Mapping[str, str] = os.environ) -> tuple[Setting, ...]:
    """Every setting, from the environment and the files.

    Args:
        folder: the working directory.
        environ: the environment.

    Raises:
        InvalidInputError: a file that is wrong; names file, line and field.
    """
    files = [(path, read_file(path)) for path in settings_files(folder, environ)]
    return tuple(_resolve(name, files, environ) for name in NAMES)


def read_file(path: Path) -> dict[str, str]:
    """The settings of a file, as environment variables would say them.

    Raises:
        InvalidInputError: unreadable, not TOML, an unknown name or a wrong value; names file, line and field.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(
            f"{path}: cannot be read as text: {error}; mend it or take it away"
        ) from error
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInputError(f"{path}: not TOML: {error}; mend it or take it away") from error
    # Loaded only where there is a file: pydantic takes longer than `layoutledger --help`.
    from tracker._settings_file import parse_settings

    said = parse_settings(content, lambda name: f"{path}:{_line(text, name)}")
    return {name: _anchored(name, value, path.parent) for name, value in said.items()}


def variables(settings: Sequence[Setting]) -> dict[str, str]:
    """What the files say, as environment variables: other parts and processes read those alone."""
    return {
        NAMES[each.name].variable: each.value
        for each in settings
        if each.said and each.source != NAMES[each.name].variable
    }


def _resolve(name: str, files: Sequence[tuple[Path, dict[str, str]]], environ: Mapping[str, str]) -> Setting:
    variable = NAMES[name].variable
    value = environ.get(variable, "").strip()
    if value:
        return Setting(name, value, variable)
    for path, said in files:
        if name in said:
            return Setting(name, said[name], str(path))
    return Setting(name, NAMES[name].default, "default")


def _anchored(name: str, value: Any, folder: Path) -> str:
    if NAMES[name].path:
        return str(folder / Path(value).expanduser())
    if name == "tracking_uri" and value.startswith("sqlite:///") and not value.startswith("sqlite:////"):
        return f"sqlite:///{(folder / value.removeprefix('sqlite:///')).absolute()}"
    return str(value)


def _line(text: str, name: str) -> int:
    """The line on which a name is set; 1 where it cannot be told."""
    found = re.search(
        rf"^[ \t]*['\"]?{re.escape(name)}['\"]?[ \t]*[=.\]]|^[ \t]*\[+[ \t]*['\"]?{re.escape(name)}",
        text,
        re.M,
    )
    return text.count("\n", 0, found.start()) + 1 if found else 1
