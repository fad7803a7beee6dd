"""`warehouse.duckdb`: the views of `tracker/sql`, over the Parquet files of now; replaced as a whole."""

import json
import shutil
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import duckdb

from schemas import canonical_json, digest_file, digest_json
from tracker.log import crash_point
from tracker.warehouse._catalogue import Catalogue
from tracker.warehouse._columns import LAYOUT
from tracker.warehouse._folder import Folder
from tracker.warehouse._kinds import KINDS, create_rules, empty_kind
from tracker.warehouse._loose import bring_up_tables, create_tables
from tracker.warehouse._sources import filled, quoted, sql_list, texts_on_top, texts_over_files, view_sources


@dataclass(frozen=True, slots=True)
class OpenAttempt:
    """A cell attempt whose segment is not sealed: at work, or dead and not recovered."""

    campaign: str
    segment: str
    cell: str


@dataclass(frozen=True, slots=True)
class Views:
    """The views over these catalogues, as SQL.

    Args:
        folder: where the file is.
        over_files: the internal views that name files, as SQL: what changes from refresh to refresh.
        loose: the files of the segments whose rows are in the tables, and their digests.
        inputs: digest of all that the views are made of.
        texts: digest of the SQL texts alone.

    """

    folder: Folder
    over_files: tuple[str, ...]
    loose: Mapping[Path, str]
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
        with self._opened(path) as connection:
            create_rules(connection)
            create_tables(connection, self.folder)
            self._bring_up(connection)
            connection.execute("; ".join(texts_on_top()))

    def write(self) -> None:
        """Swap in a file that is made anew; a reader with the old one open keeps it."""
        temporary = self.folder.temporary(self.folder.views)
        self.build(temporary)
        self._swap_in(temporary)

    def bring_up(self) -> None:
        """The same, beginning with the file that is there if no one touched it: much faster."""
        temporary = self.folder.temporary(self.folder.views)
        if self._copy_standing(temporary):
            with self._opened(temporary) as connection:
                self._bring_up(connection)
        else:
            self.build(temporary)
        self._swap_in(temporary)

    def _swap_in(self, temporary: Path) -> None:
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
        """Whether the file that is there has these texts and is as it was written; it is copied."""
        seal = read_views_seal(self.folder)
        if seal.get("texts") != self.texts or not self.folder.views.exists():
            return False
        shutil.copyfile(self.folder.views, temporary)
        if digest_file(temporary) == seal.get("sha256"):
            return True
        temporary.unlink()
        return False

    def _bring_up(self, connection: duckdb.DuckDBPyConnection) -> None:
        bring_up_tables(connection, self.loose)
        connection.execute("; ".join(self.over_files))

    @contextmanager
    def _opened(self, path: Path) -> Generator[duckdb.DuckDBPyConnection]:
        """The file, to be changed in one transaction: a commit a statement would be an fsync a statement."""
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"SET VARIABLE ledger = {quoted(str(self.folder.store.absolute()))}; BEGIN")
            yield connection
            connection.execute("COMMIT")


def make_views(folder: Folder, catalogues: Sequence[Catalogue], running: Sequence[OpenAttempt]) -> Views:
    """The views over the files of these catalogues, which are in name order."""
    loose = {
        folder.segment(catalogue.campaign, segment): catalogue.segments[segment].digest
        for catalogue in catalogues
        for segment in catalogue.loose()
    }
    values = {kind: _files(folder, kind, _part_files(folder, catalogues, kind)) for kind in KINDS}
    values["samples"] = _files(folder, "samples", _part_files(folder, catalogues, "samples"), loose)
    values["running"] = ", ".join(map(_values, running)) or "(NULL, NULL, NULL)"
    texts = digest_json([LAYOUT, duckdb.__version__, *view_sources().values()])
    return Views(
        folder,
        over_files=tuple(filled(text, **values) for text in texts_over_files()),
        loose=loose,
        inputs=digest_json([texts, values, *loose.values()]),
        texts=texts,
    )


def read_views_seal(folder: Folder) -> dict[str, str]:
    """What was noted of the views file when it was written; empty where nothing readable was."""
    try:
        seal = json.loads(folder.views_seal.read_bytes())
    except (OSError, ValueError):
        return {}
    return cast("dict[str, str]", seal) if isinstance(seal, dict) else {}


def _files(folder: Folder, kind: str, *groups: Iterable[Path]) -> str:
    # The empty file first: it gives the columns, and a list of files that is never empty.
    paths = [folder.empty(empty_kind(kind)), *(path for group in groups for path in group)]
    return sql_list(folder.relative(path) for path in paths)


def _part_files(folder: Folder, catalogues: Sequence[Catalogue], kind: str) -> list[Path]:
    return [
        folder.part(catalogue.campaign, part.name, kind)
        for catalogue in catalogues
        for part in catalogue.parts
    ]


def _values(item: OpenAttempt) -> str:
    return f"({quoted(item.campaign)}, {quoted(item.segment)}, {quoted(item.cell)})"
