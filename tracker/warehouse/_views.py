"""`warehouse.duckdb`: the views of `tracker/sql`, over the Parquet files of now; replaced as a whole."""

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import cast

import duckdb

from schemas import canonical_json, digest_file, digest_json
from tracker.log import crash_point
from tracker.warehouse._catalogue import Catalogue
from tracker.warehouse._columns import LAYOUT
from tracker.warehouse._folder import Folder

MACRO = "01_usable_medians.sql"
_HOLE = "{{"


@dataclass(frozen=True, slots=True)
class OpenAttempt:
    """A cell attempt whose segment is not sealed: at work, or dead and not recovered."""

    campaign: str
    segment: str
    cell: str


@cache
def view_sources() -> dict[str, str]:
    """The SQL texts by file name, in the order in which they build on each other."""
    folder = files("tracker") / "sql"
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".sql"))
    return {name: (folder / name).read_text(encoding="utf-8") for name in names}


def create_macro(connection: duckdb.DuckDBPyConnection) -> None:
    """Define `usable_medians`, the one rule of what a candidate measured."""
    connection.execute(view_sources()[MACRO])


def sql_list(items: Iterable[str]) -> str:
    """A SQL list of strings."""
    return "[" + ", ".join(quoted(item) for item in items) + "]"


def quoted(text: str) -> str:
    """A SQL string."""
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class Views:
    """The views over these catalogues, as SQL.

    Args:
        folder: where the file is.
        over_files: the internal views that name files: what changes from refresh to refresh.
        on_top: the views built on those.
        inputs: digest of all that the views are made of.
        texts: digest of the SQL texts alone.

    """

    folder: Folder
    over_files: tuple[str, ...]
    on_top: tuple[str, ...]
    inputs: str
    texts: str

    def are_current(self) -> bool:
        """Whether the file was made of the same texts over the same files, and no one touched it."""
        seal = read_views_seal(self.folder)
        return (
            seal.get("inputs") == self.inputs
            and self.folder.views.exists()
            and digest_file(self.folder.views) == seal.get("sha256")
        )

    def build(self, path: Path) -> None:
        """Make a new file of all the views."""
        self._run(path, (*self.over_files, *self.on_top))

    def write(self) -> None:
        """Build the file beside its place and swap it in; a reader with the old one open keeps it."""
        temporary = self.folder.temporary(self.folder.views)
        if self._copy_standing(temporary):
            self._run(temporary, self.over_files)
        else:
            self.build(temporary)
        seal = {
            "inputs": self.inputs,
            "texts": self.texts,
            "sha256": self.folder.settle(temporary),
            # Noted before the swap, so that a kill in between leaves a file that was noted.
            "previous": digest_file(self.folder.views) if self.folder.views.exists() else "",
        }
        self.folder.write(self.folder.views_seal, canonical_json(seal))
        crash_point("views.before")
        self.folder.disk.rename(temporary, self.folder.views)
        crash_point("views.after")

    def _copy_standing(self, temporary: Path) -> bool:
        """Begin from the file that is there, if it has these texts and no one touched it: much faster."""
        seal = read_views_seal(self.folder)
        if seal.get("texts") != self.texts or not self.folder.views.exists():
            return False
        shutil.copyfile(self.folder.views, temporary)
        if digest_file(temporary) == seal.get("sha256"):
            return True
        temporary.unlink()
        return False

    def _run(self, path: Path, statements: Sequence[str]) -> None:
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"SET VARIABLE ledger = {quoted(str(self.folder.store.absolute()))}")
            # One transaction: a commit a statement would be an fsync a statement.
            connection.execute("BEGIN; " + "; ".join(statements) + "; COMMIT")


def make_views(folder: Folder, catalogues: Sequence[Catalogue], running: Sequence[OpenAttempt]) -> Views:
    """The views over the files of these catalogues, which are in name order."""
    loose = _loose(folder, catalogues)
    values = {
        "facts": _files(folder, "lines", _part_files(folder, catalogues, "facts"), loose),
        "samples": _files(folder, "lines", _part_files(folder, catalogues, "samples"), loose),
        "loose": _files(folder, "lines", loose),
        "medians": _files(folder, "medians", _part_files(folder, catalogues, "medians")),
        "running": ", ".join(map(_values, running)) or "(NULL, NULL, NULL)",
    }
    sources = view_sources().values()
    texts = digest_json([LAYOUT, duckdb.__version__, *sources])
    return Views(
        folder,
        over_files=tuple(_filled(text, values) for text in sources if _HOLE in text),
        on_top=tuple(text for text in sources if _HOLE not in text),
        inputs=digest_json([texts, values]),
        texts=texts,
    )


def read_views_seal(folder: Folder) -> dict[str, str]:
    """What was noted of the views file when it was written; empty where nothing readable was."""
    try:
        seal = json.loads(folder.views_seal.read_bytes())
    except (OSError, ValueError):
        return {}
    return cast("dict[str, str]", seal) if isinstance(seal, dict) else {}


def _filled(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{_HOLE}{name}}}}}", value)
    return text


def _files(folder: Folder, kind: str, *groups: Sequence[Path]) -> str:
    # The empty file first: it gives the columns, and a list of files that is never empty.
    paths = [folder.empty(kind), *(path for group in groups for path in group)]
    return sql_list(folder.relative(path) for path in paths)


def _part_files(folder: Folder, catalogues: Sequence[Catalogue], kind: str) -> list[Path]:
    return [
        folder.part(catalogue.campaign, part.name, kind)
        for catalogue in catalogues
        for part in catalogue.parts
    ]


def _loose(folder: Folder, catalogues: Sequence[Catalogue]) -> list[Path]:
    return [
        folder.segment(catalogue.campaign, segment)
        for catalogue in catalogues
        for segment in catalogue.loose()
    ]


def _values(item: OpenAttempt) -> str:
    return f"({quoted(item.campaign)}, {quoted(item.segment)}, {quoted(item.cell)})"
